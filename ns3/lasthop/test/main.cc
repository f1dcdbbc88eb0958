/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

// Runs the module's tests where ns-3's own test runner can't: against an installed ns-3.

#include "ns3/test.h"

int
main(int argc, char* argv[])
{
    return ns3::TestRunner::Run(argc, argv);
}
