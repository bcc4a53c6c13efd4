import MixModel

/// Starts relays and counts them.
struct MeasuredRelayStarter: RelayStarting {
    let starter: any RelayStarting
    let metrics: Metrics

    func start(task: TaskID, socket: String) throws(RelayError) -> any RelayProcessHandle {
        let process = try starter.start(task: task, socket: socket)
        metrics.count(.relayStarts)
        return process
    }

    func killLeftover(socket: String) { starter.killLeftover(socket: socket) }
    func missing() async -> [String] { await starter.missing() }
}
