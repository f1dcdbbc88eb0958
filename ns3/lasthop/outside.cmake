# SPDX-License-Identifier: GPL-2.0-only
# The module against an installed ns-3; CMakeLists.txt includes this.
#
# ns-3's own CMake files are of no use here: Debian's ask for programs of another package, those
# of the wheel name folders of the machine that it was made on.

set(NS3_PREFIX /usr CACHE PATH "where ns-3 is installed: below it are include/ns3 and lib*/")
if(NOT EXISTS ${NS3_PREFIX}/include/ns3/core-module.h)
  message(FATAL_ERROR "no ns-3 in ${NS3_PREFIX}: install libns3-dev, or set NS3_PREFIX")
endif()

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()
set(CMAKE_CXX_STANDARD 20)
# The headers of ns-3 3.37 are C++17 that C++20 forbids: constructors named with "<T>".
file(STRINGS ${NS3_PREFIX}/include/ns3/singleton.h cxx17 REGEX "Singleton<T>\\(")
if(cxx17)
  set(CMAKE_CXX_STANDARD 17)
endif()
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# libns3-core.so or libns3.44-core.so, with the build profile behind it if that is not "release".
function(ns3_library result module)
  file(GLOB found ${NS3_PREFIX}/lib*/libns3*-${module}.so ${NS3_PREFIX}/lib*/libns3*-${module}-*.so
       ${NS3_PREFIX}/lib/*/libns3*-${module}.so
  )
  list(FILTER found INCLUDE REGEX
       "/libns3[.0-9]*-${module}(-(debug|default|optimized|minsizerel|relwithdebinfo))?\\.so$"
  )
  if(NOT found)
    message(FATAL_ERROR "no libns3*-${module}.so below ${NS3_PREFIX}/lib*")
  endif()
  list(GET found 0 file)
  set(${result} ${${result}} ${file} PARENT_SCOPE)
endfunction()

foreach(module core network internet traffic-control wifi)
  ns3_library(lasthop_libraries ${module})
endforeach()
foreach(module applications bridge csma mobility point-to-point)
  ns3_library(lasthop_test_libraries ${module})
endforeach()

# "ns3/lasthop-agent.h", as inside a tree.
foreach(header ${lasthop_headers})
  get_filename_component(name ${header} NAME)
  configure_file(${header} include/ns3/${name} COPYONLY)
endforeach()

add_library(ns3-lasthop SHARED ${lasthop_sources} ${LASTHOP_CORE_DIR}/core.c)
target_include_directories(ns3-lasthop PUBLIC ${CMAKE_CURRENT_BINARY_DIR}/include)
target_include_directories(ns3-lasthop SYSTEM PUBLIC ${NS3_PREFIX}/include)
target_compile_options(ns3-lasthop PRIVATE -Wall -Wextra -Wno-unused-parameter)
target_link_libraries(ns3-lasthop PUBLIC ${lasthop_libraries})

# Results differ between versions, so runs name theirs: libns3.44-core.so, or libns3-core.so.37.
list(GET lasthop_libraries 0 lasthop_core)
get_filename_component(lasthop_core ${lasthop_core} REALPATH)
if(lasthop_core MATCHES "libns3\\.([0-9]+)-")
  add_definitions(-DLASTHOP_NS3_VERSION="3.${CMAKE_MATCH_1}")
elseif(lasthop_core MATCHES "\\.so\\.([0-9]+)$")
  add_definitions(-DLASTHOP_NS3_VERSION="3.${CMAKE_MATCH_1}")
endif()

enable_testing()
add_executable(lasthop-test-runner ${lasthop_tests} test/main.cc)
target_link_libraries(lasthop-test-runner ns3-lasthop ${lasthop_test_libraries})
foreach(suite lasthop lasthop-devices lasthop-wifi)
  add_test(NAME ${suite} COMMAND lasthop-test-runner --suite=${suite} --verbose)
endforeach()

foreach(example lasthop-two-state)
  add_executable(${example} examples/${example}.cc)
  target_link_libraries(${example} ns3-lasthop ${lasthop_test_libraries})
endforeach()
add_test(NAME lasthop-two-state COMMAND lasthop-two-state --time=20)
file(GLOB lasthop_simulate CONFIGURE_DEPENDS examples/lasthop-simulate*.cc)
add_executable(lasthop-simulate ${lasthop_simulate})
target_link_libraries(lasthop-simulate ns3-lasthop ${lasthop_test_libraries})
add_test(NAME lasthop-simulate COMMAND lasthop-simulate --duration=5s --ber=1e-6)
add_test(NAME lasthop-simulate-wifi
         COMMAND lasthop-simulate --mac=802.11b --macTries=1 --scheme=csnoop --agents=both --duration=5s
)
