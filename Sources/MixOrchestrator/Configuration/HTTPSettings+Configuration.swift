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
    }
}
