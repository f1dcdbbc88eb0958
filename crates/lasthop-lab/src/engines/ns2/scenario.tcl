# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# One cell of `lasthop-lab compare --engine ns2`: FH, BS and MH in series, one bulk transfer from FH
# to MH by ns-2's own TCP, and on the device to the hop nothing or ns-2's own Snoop.
#
#     ns scenario.tcl KEY=VALUE ...
#
# The keys are those of `scenario` below; times in s, rates in bit/s, queues and windows in packets.
# CLASS::NAME=VALUE sets a default of ns-2's otherwise, such as Agent/TCP::tcpTick_=0.5, and
# Scenario::KEY=VALUE a key again. What is printed is one object of JSON.
#
# In ns-2 Snoop is a link layer of LANs (LL/LLSnoop), whose stations share one medium. The hop here
# has a rate each way, as the other engines' has, so that link layer stands between BS and the queue
# of an ordinary link. It tells ACKs from data by which way a packet goes through the layers; that is
# set by a link layer of MH's, and by a channel of no length over which the ACKs come in.

array set scenario {
    seed 1          duration 20        warmup 5        sample 0.1
    rate 2e6        rate_up 2e6        delay 0.001     queue 50       queue_up 50
    wired_rate 10e6 wired_delay 0.1    wired_queue 50
    loss 0          loss_up 0          ber 0           two_state ""   errors_up 0
    sender Reno     delayed_acks 0     payload 1000    options 0      window 100
    min_rto 0.2     initial_window 2   limited_transmit 0             snoop 0
}
set defaults {}

proc read_arguments {} {
    global argv scenario defaults
    foreach word $argv {
        if {![regexp {^([^=]+)=(.*)$} $word whole key value]} {
            error "`$word` is no KEY=VALUE"
        }
        if {[regexp {^(.+)::([^:]+)$} $key whole class name] && $class ne "Scenario"} {
            lappend defaults $class $name $value
            continue
        }
        regsub {^Scenario::} $key {} key
        if {![info exists scenario($key)]} {
            error "no such key: $key"
        }
        set scenario($key) $value
    }
}

proc set_defaults {} {
    global scenario defaults
    Agent/TCP set packetSize_ $scenario(payload)
    Agent/TCP set window_ $scenario(window)
    Agent/TCP set windowInit_ $scenario(initial_window)
    Agent/TCP set minrto_ $scenario(min_rto)
    Agent/TCP set singledup_ $scenario(limited_transmit)
    if {$scenario(options)} {
        Agent/TCP set timestamps_ true
        Agent/TCP set ts_option_size_ $scenario(options)
    }
    # Layers take no time: the links' delays are all that there are.
    LL set delay_ 0
    LL/LLSnoop set delay_ 0
    Channel set delay_ 0
    foreach {class name value} $defaults {
        if {[catch {$class set $name}]} {
            error "ns-2 has no default $class $name"
        }
        $class set $name $value
    }
}

# ---- counting

# A connector that counts what passes it, and the monitor that has the count.
proc new_counter {target} {
    set counter [new SnoopQueue/In]
    set monitor [new QueueMonitor]
    $counter set-monitor $monitor
    $counter target $target
    return [list $counter $monitor]
}

# What an object drops, counted; the monitor.
proc count_drops {object} {
    global ns
    foreach {counter monitor} [new_counter [$ns set nullAgent_]] {}
    $object drop-target $counter
    return $monitor
}

proc packets {monitors} {
    set sum 0
    foreach monitor $monitors {
        incr sum [expr int([$monitor set parrivals_])]
    }
    return $sum
}

# ---- errors

# Each packet is lost with the share of its unit: of packets, or of bytes, by which longer ones are
# lost more often. A list of the model and the monitor of what it dropped.
proc add_errors {link share unit} {
    set random [new RandomVariable/Uniform]
    $random use-rng [new RNG]
    set errors [new ErrorModel]
    $errors unit $unit
    $errors set rate_ $share
    $errors ranvar $random
    $errors target [[$link link] target]
    [$link link] target $errors
    return [list $errors [count_drops $errors]]
}

# A good and a bad state of exponential lengths; in each the packets from one error to the next are a
# number with the mean given.
proc enter_state {errors length_s model is_bad} {
    global ns
    $errors set rate_ [expr 1.0 / [lindex $model $is_bad]]
    $length_s set avg_ [lindex $model [expr 2 + $is_bad]]
    $ns at [expr [$ns now] + [$length_s value]] \
        [list enter_state $errors $length_s $model [expr !$is_bad]]
}

proc add_two_states {link} {
    global scenario
    foreach {errors monitor} [add_errors $link 0 pkt] {}
    set length_s [new RandomVariable/Exponential]
    $length_s use-rng [new RNG]
    enter_state $errors $length_s [split $scenario(two_state) ,] 0
    return $monitor
}

# All that a link loses; the monitors.
proc add_all_errors {link share has_states} {
    global scenario
    set monitors {}
    if {$share > 0} {
        lappend monitors [lindex [add_errors $link $share pkt] 1]
    }
    if {$scenario(ber) > 0} {
        # Not by unit `bit`, with which 2.35 loses every packet at any share.
        set share [expr 1 - pow(1 - $scenario(ber), 8)]
        lappend monitors [lindex [add_errors $link $share byte] 1]
    }
    if {$has_states} {
        lappend monitors [add_two_states $link]
    }
    return $monitors
}

# ---- the path

proc add_link {from to rate delay queue} {
    global ns
    $ns simplex-link $from $to ${rate} ${delay}s DropTail
    $ns queue-limit $from $to $queue
    return [$ns link $from $to]
}

# Puts Snoop before the queue of the hop and behind its way back. The monitors of data and ACKs before
# and behind it.
proc add_snoop {bs mh down up} {
    set snoop [new LL/LLSnoop]
    foreach {sent sent_monitor} [new_counter [$down queue]] {}
    foreach {passed passed_monitor} [new_counter [$bs entry]] {}
    foreach {asked asked_monitor} [new_counter $snoop] {}
    foreach {heard heard_monitor} [new_counter $snoop] {}
    $snoop mac [new Mac]
    $snoop set macDA_ -1
    $snoop ifq [$down queue]
    $snoop down-target $sent
    $snoop up-target $passed
    [$down head] target $asked

    set layer [new LL]
    $layer mac [new Mac]
    $layer set macDA_ -1
    $layer ifq [$up queue]
    $layer down-target [$up queue]
    $layer up-target [$mh entry]
    [$up head] target $layer

    set channel [new Channel]
    foreach {end node} [list near $bs far $mh] {
        set $end [new Phy/WiredPhy]
        [set $end] node $node
        [set $end] channel $channel
        $channel addif [set $end]
    }
    [$up set ttl_] target $far
    $near up-target $heard
    return [list $asked_monitor $sent_monitor $heard_monitor $passed_monitor]
}

proc build_path {} {
    global ns scenario fh mh monitors
    set fh [$ns node]
    set bs [$ns node]
    set mh [$ns node]
    foreach {from to} [list $fh $bs $bs $fh] {
        add_link $from $to $scenario(wired_rate) $scenario(wired_delay) $scenario(wired_queue)
    }
    set down [add_link $bs $mh $scenario(rate) $scenario(delay) $scenario(queue)]
    set up [add_link $mh $bs $scenario(rate_up) $scenario(delay) $scenario(queue_up)]
    set has_states [expr {$scenario(two_state) ne ""}]
    set monitors(lost) [add_all_errors $down $scenario(loss) $has_states]
    add_all_errors $up $scenario(loss_up) [expr $has_states && $scenario(errors_up)]
    set monitors(dropped) [count_drops [$down queue]]
    if {$scenario(snoop)} {
        foreach name {asked sent heard passed} monitor [add_snoop $bs $mh $down $up] {
            set monitors($name) $monitor
        }
    }
}

proc start_transfer {} {
    global ns scenario fh mh tcp sink
    set class Agent/TCP
    if {$scenario(sender) ne "Tahoe"} {
        append class /$scenario(sender)
    }
    set sink_class Agent/TCPSink
    if {$scenario(sender) eq "Sack1"} {
        append sink_class /Sack1
    }
    if {$scenario(delayed_acks)} {
        append sink_class /DelAck
    }
    set tcp [new $class]
    set sink [new $sink_class]
    $ns attach-agent $fh $tcp
    $ns attach-agent $mh $sink
    $ns connect $tcp $sink
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp
    $ns at 0 "$ftp start"
}

# ---- what comes out

# In-order payload that the receiver has got. The sink counts headers, too, and the SYN, which is one.
proc received_bytes {} {
    global sink scenario
    set packet_bytes [expr $scenario(payload) + 40 + $scenario(options)]
    return [expr int([$sink set bytes_]) / $packet_bytes * $scenario(payload)]
}

proc counts {} {
    global scenario tcp monitors
    set counts [list received_bytes [received_bytes] segments [$tcp set ndatapack_] \
        retransmits [$tcp set nrexmitpack_] timeouts [$tcp set nrexmit_] \
        link_lost [packets $monitors(lost)] queue_dropped [packets $monitors(dropped)]]
    if {$scenario(snoop)} {
        lappend counts local_retransmits [expr [packets $monitors(sent)] - [packets $monitors(asked)]] \
            suppressed_acks [expr [packets $monitors(heard)] - [packets $monitors(passed)]]
    }
    return $counts
}

proc take_sample {} {
    global ns scenario tcp samples
    # In eighths of ticks.
    set rtt_us [expr round([$tcp set srtt_] / 8.0 * [$tcp set tcpTick_] * 1e6)]
    lappend samples "\[[expr round([$ns now] * 1e9)],[received_bytes],$rtt_us\]"
    $ns at [expr [$ns now] + $scenario(sample)] take_sample
}

proc finish {} {
    global before samples
    set fields {}
    foreach {name from} $before {name to} [counts] {
        lappend fields "\"$name\":[expr $to - $from]"
    }
    lappend fields "\"ns2\":\"[ns-version]\"" "\"samples\":\[[join $samples ,]\]"
    puts "{[join $fields ,]}"
    exit 0
}

proc main {} {
    global ns scenario
    read_arguments
    global defaultRNG
    $defaultRNG seed $scenario(seed)
    set_defaults
    set ns [new Simulator]
    build_path
    start_transfer
    $ns at 0 take_sample
    $ns at $scenario(warmup) {set before [counts]}
    $ns at [expr $scenario(warmup) + $scenario(duration)] finish
    $ns run
}

if {[catch main said]} {
    puts stderr $said
    exit 1
}
