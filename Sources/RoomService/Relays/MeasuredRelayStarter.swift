import MixModel

/// Starts relays and counts them.
package struct MeasuredRelayStarter: RelayStarting {
    let starter: any RelayStarting
    package let metrics: Metrics

    package init(starter: any RelayStarting, metrics: Metrics) {
        self.starter = starter
        self.metrics = metrics
    }

    package func start(task: TaskID, socket: String) throws(RelayError) -> any RelayProcessHandle {
        let process = try starter.start(task: task, socket: socket)
        metrics.count(.relayStarts)
        return process
    }

    package func killLeftover(socket: String) { starter.killLeftover(socket: socket) }
    package func missing() async -> [String] { await starter.missing() }
}
