/// All metrics with their help texts and labels. docs/metrics.md tells operators how to use them.
extension Metrics {
    /// Counters, which only grow.
    enum Counter: String, CaseIterable, Sendable {
        case events = "events_total"
        case httpRequests = "http_requests_total"
        case imageFetches = "image_fetches_total"
        case layoutReloads = "layout_reloads_total"
        case outputBytes = "output_sent_bytes_total"
        case outputReconnects = "output_reconnects_total"
        case recordingFailures = "recording_failures_total"
        case relayLosses = "relay_losses_total"
        case relayStarts = "relay_starts_total"
        case storeFailures = "store_failures_total"
        case storeUnreadable = "store_unreadable_rows_total"
        case switches = "switches_total"
        case viewerBytes = "viewer_sent_bytes_total"
        case viewerSkips = "viewer_skips_total"
        case viewersRefused = "viewers_refused_total"
        case webhookAttempts = "webhook_attempts_total"
        case webhookMessages = "webhook_messages_total"
        case wireCalls = "wire_calls_total"

        var help: String {
            switch self {
            case .events: "Events of rooms by what they did."
            case .httpRequests: "Requests by route and class of the answer's status."
            case .imageFetches: "Images of layouts that were fetched or read, by what came of it."
            case .layoutReloads: "Layouts that were saved, by what came of it."
            case .outputBytes: "Bytes of FLV handed to connections of outputs."
            case .outputReconnects: "Connections of outputs made after their first one."
            case .recordingFailures: "Recordings that ended, or lost their recorder, against their will, by why."
            case .relayLosses: "Relays that ended although they were wanted."
            case .relayStarts: "Relays that were started; adopted ones are not counted."
            case .storeFailures: "Changes that the store did not take."
            case .storeUnreadable: "Rows of the store that cannot be read, by table."
            case .switches: "Changes of what is on air, by what was and what is."
            case .viewerBytes: "Bytes of programs handed to connections of viewers."
            case .viewerSkips: "How often viewers who were too far behind went on with the newest keyframe."
            case .viewersRefused: "Viewers for whom there was no place."
            case .webhookAttempts: "Attempts to deliver messages to subscribers, by what came of it."
            case .webhookMessages: "Messages to subscribers that are done with: delivered, or given up."
            case .wireCalls: "Calls of the ApsaraVideo Live interface, by action and code."
            }
        }

        var labels: [String] {
            switch self {
            case .events: ["outcome"]
            case .httpRequests: ["method", "route", "status"]
            case .imageFetches: ["result"]
            case .layoutReloads: ["layout", "result"]
            case .recordingFailures: ["code"]
            case .storeUnreadable: ["table"]
            case .switches: ["from", "to"]
            case .webhookAttempts: ["result"]
            case .webhookMessages: ["outcome"]
            case .wireCalls: ["action", "code"]
            case .outputBytes, .outputReconnects, .relayLosses, .relayStarts, .storeFailures, .viewerBytes,
                .viewerSkips,
                .viewersRefused:
                []
            }
        }
    }

    /// Durations, as histograms in seconds.
    enum Timer: String, CaseIterable, Sendable {
        case eventDurable = "event_durable_seconds"
        case httpRequest = "http_request_duration_seconds"
        case relayTold = "event_relay_told_seconds"
        case storeCommit = "store_commit_duration_seconds"
        case switchLatency = "switch_latency_seconds"
        case webhookDelay = "webhook_delay_seconds"

        var help: String {
            switch self {
            case .eventDurable: "From an event's arrival until it is stored."
            case .httpRequest: "From a request's head until its answer begins, by route."
            case .relayTold: "From the arrival of what caused a plan until the plan is handed to the relay."
            case .storeCommit: "Time that one change waits for the store."
            case .switchLatency: "From the event until viewers see what it asked for, by what is on air then."
            case .webhookDelay: "From the storing of a message until its subscriber has it."
            }
        }

        var labels: [String] {
            switch self {
            case .httpRequest: ["route"]
            case .switchLatency: ["to"]
            case .eventDurable, .relayTold, .storeCommit, .webhookDelay: []
            }
        }
    }

    /// Numbers of items, as histograms.
    enum Size: String, CaseIterable, Sendable {
        case storeGroup = "store_group_size"

        var help: String {
            switch self {
            case .storeGroup: "Changes that were made durable together."
            }
        }
    }

    /// Values at the time of a scrape.
    enum Gauge: String, CaseIterable, Sendable {
        case admissionRefusals = "admission_refusals_total"
        case buildInfo = "build_info"
        case coresAvailable = "cpu_cores_available"
        case coresCommitted = "cpu_cores_committed"
        case degradedTasks = "degraded_tasks"
        case imagesFailed = "images_failed"
        case layouts = "layouts"
        case layoutsBroken = "layouts_broken"
        case mixersFailing = "mixers_failing"
        case outputs = "outputs"
        case processCPU = "process_cpu_seconds_total"
        case processDescriptors = "process_open_fds"
        case processDescriptorLimit = "process_max_fds"
        case processResident = "process_resident_memory_bytes"
        case processStart = "process_start_time_seconds"
        case processThreads = "process_threads"
        case programs = "programs_on_air"
        case ready = "ready"
        case recordings = "recordings"
        case relays = "relays_connected"
        case rooms = "rooms"
        case sources = "sources"
        case storeQueue = "store_queue_length"
        case taskCost = "task_cost_cores"
        case tasks = "tasks"
        case subscriptions
        case feedListeners = "feed_listeners"
        case tasksWaiting = "tasks_waiting"
        case viewers
        case webhookCircuits = "webhook_circuits_open"
        case webhooksWaiting = "webhook_messages_waiting"

        var help: String {
            switch self {
            case .admissionRefusals: "Tasks that were not started for want of cores."
            case .buildInfo: "1, with the version that runs."
            case .coresAvailable: "Cores that new tasks may still take; not there while there is no limit."
            case .coresCommitted: "Cores that the tasks on air would take at full quality."
            case .degradedTasks: "Tasks whose programs are made cheaper, by level."
            case .imagesFailed: "Images that layouts name and cannot be had."
            case .layouts: "Layouts that rooms can take."
            case .layoutsBroken: "Layouts whose file cannot be used now."
            case .mixersFailing: "Programs that want to be mixed and cannot."
            case .outputs: "Outputs of programs by state."
            case .processCPU: "Processor time of this process, user and system."
            case .processDescriptors: "Open file descriptors."
            case .processDescriptorLimit: "Most file descriptors that may be open."
            case .processResident: "Resident memory."
            case .processStart: "Start of this process, in seconds since 1970."
            case .processThreads: "Threads of this process."
            case .programs: "Programs by what viewers get."
            case .ready: "1 while the service can take events and changes, as /readyz tells."
            case .recordings: "Streams that are recorded, by state."
            case .relays: "Relays that are connected."
            case .rooms: "Rooms that are known."
            case .sources: "Streams that are pulled, by state."
            case .storeQueue: "Changes that wait for the store."
            case .taskCost: "Cores that the relays and mixers of all tasks use now."
            case .tasks: "Tasks by state."
            case .subscriptions: "Subscriptions by kind."
            case .feedListeners: "Who follows rooms (GET /v1/rooms/{room}/feed)."
            case .tasksWaiting: "Tasks that wait for cores."
            case .viewers: "Viewers who play programs over HTTP-FLV."
            case .webhookCircuits: "Subscribers that fail, to whom nothing is sent for a while."
            case .webhooksWaiting: "Messages to subscribers that wait to be delivered."
            }
        }

        /// Kind of the metric. Some counters are kept elsewhere and read for each scrape.
        var kind: MetricFamily.Kind {
            switch self {
            case .admissionRefusals, .processCPU: .counter
            default: .gauge
            }
        }

        var labels: [String] {
            switch self {
            case .buildInfo: ["version"]
            case .degradedTasks: ["level"]
            case .outputs, .recordings, .sources, .tasks: ["state"]
            case .programs, .subscriptions: ["kind"]
            default: []
            }
        }
    }
}
