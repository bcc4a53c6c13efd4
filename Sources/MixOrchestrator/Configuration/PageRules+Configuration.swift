import RoomService

extension PageRules {
    private enum Sandbox: String, CaseIterable { case on, off }
    private enum Requests: String, CaseIterable { case `public`, allowed }

    /// Reads the settings under `pages`.
    ///
    /// - Returns: `nil` if pages are off.
    init?(_ values: ConfigurationValues, ingest: IngestConfiguration?) throws(StartupError) {
        let isEnabled = try values.flag("pages.enabled")
        self.init()
        limit = try values.integer("pages.max", in: Self.limits) ?? limit
        warm = try values.integer("pages.warm", in: Self.warmLimits) ?? warm
        user = values.text("pages.user")
        let sandbox: Sandbox? = try values.choice("pages.sandbox")
        allowsNoSandbox = sandbox == .off
        let requests: Requests? = try values.choice("pages.requests")
        restrictsRequests = requests == .allowed
        readyTimeout = try values.number("pages.readyTimeout", in: Self.timeouts) ?? readyTimeout
        cores = try values.number("pages.cores", in: 0...64) ?? cores
        cpu = try values.integer("pages.cpu", in: Self.cpus) ?? cpu
        niceness = try values.integer("pages.niceness", in: Self.nicenesses) ?? niceness
        memory = try values.integer("pages.freeMemory", in: 0...1_048_576) ?? memory
        guard isEnabled != true || ingest != nil else {
            throw StartupError(
                "configuration: pages.enabled: found true without ingest.rtmp.listen; expected both, because pages are "
                    + "published to the ingest; ingest.rtmp.listen: 127.0.0.1:1935 is for them alone")
        }
        guard isEnabled == true else { return nil }
    }
}
