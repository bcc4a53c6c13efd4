import HTTPInterface
import RoomService

extension HTTPSettings {
    init(_ values: ConfigurationValues) throws(StartupError) {
        self.init()
        maxConnections = try values.integer("http.maxConnections", in: 1...1_000_000) ?? maxConnections
        idleTimeout = try values.integer("http.idleTimeout", in: 1...86_400) ?? idleTimeout
        requestTimeout = try values.integer("http.requestTimeout", in: 1...3600) ?? requestTimeout
        requestRate = try values.integer("http.rate.requests", in: 0...10_000_000) ?? requestRate
        eventRate = try values.integer("http.rate.events", in: 0...10_000_000) ?? eventRate
        failureRate = try values.integer("http.rate.failures", in: 0...10_000_000) ?? failureRate
        tls = try Self.tls(values)
    }

    private static func tls(_ values: ConfigurationValues) throws(StartupError) -> TLSFiles? {
        let keys = ["http.tls.certificateFile", "http.tls.keyFile"]
        let paths = keys.map { values.text($0) }
        if let certificate = paths[0], let key = paths[1] {
            return TLSFiles(
                certificate: OrchestratorConfiguration.absolute(certificate),
                key: OrchestratorConfiguration.absolute(key))
        }
        guard let present = zip(keys, paths).first(where: { $1 != nil })?.0,
            let missing = keys.first(where: { $0 != present })
        else { return nil }
        throw StartupError(
            "configuration: \(missing): found nothing beside \(present); expected the path of a PEM file")
    }
}
