extension WebRTCViewers {
    package struct Configuration: Sendable {
        /// `nil` = off: workers of an earlier run are ended.
        var rules: WebRTCRules?
        var limits: WebRTCViewerLimits
        var files: WebRTCFiles
        var starter: SocketWorkerStarter
        /// The ingest from which participants' streams come, and its secret; `nil` = no ingest, so no participant is
        /// played.
        var ingest: (rules: IngestRules, secret: String)?
        /// The gateway from which workers read programs of other nodes; `nil` = there are none.
        var programs: ProgramGateway?
        /// Whether workers stay when the service is shut down.
        var isKept: Bool

        /// - Throws: `StartupError` if the directory cannot be created, or the ingest's secret cannot be stored.
        package init(
            rules: WebRTCRules?, limits: WebRTCViewerLimits = .init(), ingest: IngestRules? = nil, data: String,
            starter: SocketWorkerStarter, isKept: Bool, programs: ProgramGateway? = nil
        ) throws(StartupError) {
            self.programs = programs
            self.rules = rules
            self.limits = limits
            files = try WebRTCFiles(data: data)
            self.starter = starter
            if let ingest { self.ingest = (ingest, try IngestFiles(data: data).secret()) }
            self.isKept = isKept
        }

        /// Returns a configuration without viewers; `nil` if no earlier run has left files.
        package static func off(data: String, starter: SocketWorkerStarter) throws(StartupError) -> Configuration? {
            guard WebRTCFiles.exist(in: data) else { return nil }
            return try Configuration(rules: nil, data: data, starter: starter, isKept: false)
        }
    }
}
