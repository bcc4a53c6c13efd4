import EventSubscription
import HTTPInterface
import RoomService

extension WCSSettings {
    /// - Returns: `nil` if the interface is off.
    init?(_ values: ConfigurationValues) throws(StartupError) {
        let patterns = values.list("wcs.patterns")
        do throws(InputError) {
            self.init(names: try NamePatterns(patterns.isEmpty ? WCSSettings.patterns : patterns))
        } catch {
            throw StartupError(
                "configuration: wcs.\(error.field): found \(error.found ?? "nothing"); expected \(error.expected)")
        }
        numbers.all = try values.integer("wcs.maxConnections", in: 1...1_000_000) ?? numbers.all
        numbers.perAddress =
            try values.integer("wcs.maxConnectionsPerAddress", in: 1...1_000_000) ?? numbers.perAddress
        guard try values.flag("wcs.enabled") ?? false else { return nil }
    }
}
