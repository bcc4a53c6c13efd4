/// All metrics with their help texts and labels. docs/metrics.md tells operators how to use them.
extension Metrics {
    /// Counters, which only grow.
    package enum Counter: String, CaseIterable, Sendable {
        case channelDrops = "channel_viewers_dropped_total"
        case channelMessages = "channel_messages_total"
        case channelRefusals = "channel_messages_refused_total"
        case events = "events_total"
        case hookCalls = "hook_calls_total"
        case hookCorrections = "hook_corrections_total"
        case hookPolls = "hook_polls_total"
        case httpRequests = "http_requests_total"
        case imageFetches = "image_fetches_total"
        case layoutReloads = "layout_reloads_total"
        case outputBytes = "output_sent_bytes_total"
        case outputReconnects = "output_reconnects_total"
        case recordingFailures = "recording_failures_total"
        case relayLosses = "relay_losses_total"
        case relayStarts = "relay_starts_total"
        case socketIOEnds = "socketio_ends_total"
        case socketIOReceived = "socketio_received_packets_total"
        case socketIORefusals = "socketio_refusals_total"
        case socketIOSent = "socketio_sent_packets_total"
        case storeFailures = "store_failures_total"
        case storeUnreadable = "store_unreadable_rows_total"
        case switches = "switches_total"
        case uploadBytes = "upload_sent_bytes_total"
        case uploadFailures = "upload_failures_total"
        case uploads = "upload_files_total"
        case viewerBytes = "viewer_sent_bytes_total"
        case viewerSkips = "viewer_skips_total"
        case viewersRefused = "viewers_refused_total"
        case wcsHooks = "wcs_hooks_total"
        case webhookAttempts = "webhook_attempts_total"
        case webhookMessages = "webhook_messages_total"
        case webrtcLost = "webrtc_lost_packets_total"
        case webrtcPackets = "webrtc_packets_total"
        case webrtcSent = "webrtc_sent_packets_total"
        case webrtcSentLost = "webrtc_sent_lost_packets_total"
        case webrtcSessions = "webrtc_sessions_total"
        case webrtcViews = "webrtc_views_total"
        case wireCalls = "wire_calls_total"

        var help: String {
            switch self {
            case .channelDrops: "Followers of room channels disconnected because they read too slowly."
            case .channelMessages: "Messages accepted by room channels, by kind: comment, like or gift."
            case .channelRefusals: "Messages refused by room channels, by reason."
            case .events: "Room events, by outcome."
            case .hookCalls: "Callbacks of media servers, by hook and result."
            case .hookCorrections:
                "Streams that began or ended without a report, as found in statistics, by hook and change."
            case .hookPolls: "Readings of media servers' statistics, by hook and result."
            case .httpRequests: "HTTP requests, by method, route and status class."
            case .imageFetches: "Fetches and reads of layout images, by result."
            case .layoutReloads: "Layout saves, by layout and result."
            case .outputBytes: "FLV bytes sent to outputs."
            case .outputReconnects: "Output reconnections."
            case .recordingFailures: "Recordings that failed or lost their recorder, by error code."
            case .relayLosses: "Relays that exited unexpectedly."
            case .relayStarts: "Relays started, not counting adopted ones."
            case .socketIOEnds: "Socket.IO connections that ended, by reason."
            case .socketIOReceived: "Engine.IO packets received from Socket.IO clients, including heartbeats."
            case .socketIORefusals:
                "Refused Socket.IO requests and clients, by reason: Engine.IO error code, full or namespace."
            case .socketIOSent: "Engine.IO packets sent to Socket.IO clients, including heartbeats."
            case .storeFailures: "Changes that the store failed to write."
            case .storeUnreadable: "Unreadable store rows, by table."
            case .switches: "Program switches, by mode before and after."
            case .uploadBytes: "Bytes of files sent to storage, including retries, by target."
            case .uploadFailures: "Failed attempts to upload a file, by target and error code."
            case .uploads: "Files whose upload has ended, by target and result: stored or failed."
            case .viewerBytes: "Program bytes sent to viewers."
            case .viewerSkips: "Times a slow viewer skipped to the newest keyframe."
            case .viewersRefused: "Viewers refused because a viewer limit was reached."
            case .wcsHooks: "Calls of WCS hooks to the app's server, by method and result."
            case .webhookAttempts: "Webhook delivery attempts, by result."
            case .webhookMessages: "Webhook messages settled, by outcome: delivered or given up."
            case .webrtcLost: "Packets of WebRTC publishers that never arrived."
            case .webrtcPackets: "Packets received from WebRTC publishers."
            case .webrtcSent: "Packets sent to WebRTC viewers."
            case .webrtcSentLost: "Packets that WebRTC viewers reported as lost."
            case .webrtcSessions: "Offers of WebRTC publishers, by result: opened, refused or failed."
            case .webrtcViews: "Offers of WebRTC viewers, by result: opened, refused or failed."
            case .wireCalls: "Calls to the ApsaraVideo Live interface, by action and code."
            }
        }

        var labels: [String] {
            switch self {
            case .channelMessages: ["kind"]
            case .channelRefusals: ["reason"]
            case .events: ["outcome"]
            case .hookCalls, .hookPolls: ["hook", "result"]
            case .hookCorrections: ["hook", "change"]
            case .httpRequests: ["method", "route", "status"]
            case .imageFetches: ["result"]
            case .layoutReloads: ["layout", "result"]
            case .recordingFailures: ["code"]
            case .socketIOEnds, .socketIORefusals: ["reason"]
            case .storeUnreadable: ["table"]
            case .switches: ["from", "to"]
            case .uploadBytes: ["target"]
            case .uploadFailures: ["target", "code"]
            case .uploads: ["target", "result"]
            case .wcsHooks: ["method", "result"]
            case .webhookAttempts: ["result"]
            case .webhookMessages: ["outcome"]
            case .webrtcSessions, .webrtcViews: ["result"]
            case .wireCalls: ["action", "code"]
            case .channelDrops, .outputBytes, .outputReconnects, .relayLosses, .relayStarts, .socketIOReceived,
                .socketIOSent, .storeFailures, .viewerBytes, .viewerSkips, .viewersRefused, .webrtcLost,
                .webrtcPackets, .webrtcSent, .webrtcSentLost:
                []
            }
        }
    }

    /// Durations, as histograms in seconds.
    package enum Timer: String, CaseIterable, Sendable {
        case eventDurable = "event_durable_seconds"
        case httpRequest = "http_request_duration_seconds"
        case relayTold = "event_relay_told_seconds"
        case storeCommit = "store_commit_duration_seconds"
        case switchLatency = "switch_latency_seconds"
        case webhookDelay = "webhook_delay_seconds"

        var help: String {
            switch self {
            case .eventDurable: "Latency from an event's arrival to its durable write."
            case .httpRequest: "Latency from request headers to the start of the response, by route."
            case .relayTold: "Latency from an event's arrival to its plan being handed to the relay."
            case .storeCommit: "Time for which one change waits for the store."
            case .switchLatency: "Latency from event to air, by resulting mode."
            case .webhookDelay: "Latency from storing a webhook message to its delivery."
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
    package enum Size: String, CaseIterable, Sendable {
        case storeGroup = "store_group_size"

        var help: String {
            switch self {
            case .storeGroup: "Changes per store transaction."
            }
        }
    }

    /// Values at the time of a scrape.
    package enum Gauge: String, CaseIterable, Sendable {
        case admissionRefusals = "admission_refusals_total"
        case buildInfo = "build_info"
        case channels
        case channelMirrors = "channel_mirrors"
        case channelViewers = "channel_viewers"
        case coresAvailable = "cpu_cores_available"
        case coresCommitted = "cpu_cores_committed"
        case degradedTasks = "degraded_tasks"
        case imagesFailed = "images_failed"
        case ingestConnections = "ingest_connections"
        case ingestPlayers = "ingest_players"
        case ingestPublishers = "ingest_publishers"
        case layouts = "layouts"
        case layoutsBroken = "layouts_broken"
        case loadRatio = "load_ratio"
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
        case socketIOSessions = "socketio_sessions"
        case storeQueue = "store_queue_length"
        case taskCost = "task_cost_cores"
        case tasks = "tasks"
        case subscriptions
        case feedListeners = "feed_listeners"
        case tasksWaiting = "tasks_waiting"
        case uploadFiles = "upload_pending_files"
        case viewers
        case webhookCircuits = "webhook_circuits_open"
        case webhooksWaiting = "webhook_messages_waiting"
        case webrtcPublishers = "webrtc_publishers"
        case webrtcViewers = "webrtc_viewers"
        case pages

        var help: String {
            switch self {
            case .admissionRefusals: "Tasks not started because too few cores were free."
            case .buildInfo: "Always 1; the label is the running version."
            case .channels: "Room channels in memory."
            case .channelMirrors: "Channels of other nodes' rooms that are followed at this node."
            case .channelViewers: "Connections that follow room channels."
            case .coresAvailable: "Cores still available to new tasks; absent if there is no limit."
            case .coresCommitted: "Cores that the tasks on air need at full quality."
            case .degradedTasks: "Tasks running at reduced frame rate, by load level."
            case .imagesFailed: "Layout images that cannot be fetched or read."
            case .ingestConnections: "Connections of the RTMP ingest."
            case .ingestPlayers: "Players of the RTMP ingest, including relays."
            case .ingestPublishers: "Publishers connected to the RTMP ingest."
            case .layouts: "Layouts that rooms can use."
            case .layoutsBroken: "Layouts whose file is currently invalid."
            case .loadRatio: "Part of a resource that is in use or promised: 1 = all, more if tasks wait."
            case .mixersFailing: "Programs that should be mixed but have no working mixer."
            case .outputs: "Program outputs, by state."
            case .pages: "Web pages used as sources, including those that are not on air."
            case .processCPU: "User and system CPU time of this process, in seconds."
            case .processDescriptors: "Open file descriptors."
            case .processDescriptorLimit: "Maximum number of open file descriptors."
            case .processResident: "Resident memory, in bytes."
            case .processStart: "Start time of this process, in seconds since 1970."
            case .processThreads: "Threads of this process."
            case .programs: "Programs on air, by mode: bypass, mix or slate."
            case .ready: "1 while the service accepts events and changes, as reported by /readyz."
            case .recordings: "Recordings, by state."
            case .relays: "Connected relays."
            case .rooms: "Known rooms."
            case .sources: "Pulled streams, by state."
            case .socketIOSessions: "Socket.IO connections, by transport."
            case .storeQueue: "Changes waiting for the store."
            case .taskCost: "Cores in use by the relays and mixers of all tasks."
            case .tasks: "Tasks, by state."
            case .subscriptions: "Subscriptions, by kind."
            case .feedListeners: "Open room feeds (GET /v1/rooms/{room}/feed)."
            case .tasksWaiting: "Tasks waiting for cores."
            case .uploadFiles: "Files that are not uploaded yet, by target and state."
            case .viewers: "Viewers playing programs over HTTP-FLV."
            case .webhookCircuits: "Failing subscribers to which delivery is paused."
            case .webhooksWaiting: "Webhook messages waiting for delivery."
            case .webrtcPublishers: "WebRTC publisher sessions."
            case .webrtcViewers: "WebRTC viewer sessions."
            }
        }

        /// Kind of the metric. Some counters are kept elsewhere and read at each scrape.
        package var kind: MetricFamily.Kind {
            switch self {
            case .admissionRefusals, .processCPU: .counter
            default: .gauge
            }
        }

        var labels: [String] {
            switch self {
            case .buildInfo: ["version"]
            case .socketIOSessions: ["transport"]
            case .degradedTasks: ["level"]
            case .loadRatio: ["resource"]
            case .outputs, .recordings, .sources, .tasks: ["state"]
            case .programs, .subscriptions: ["kind"]
            case .uploadFiles: ["target", "state"]
            default: []
            }
        }
    }
}
