import RoomService

extension Quotas {
    /// - Parameter key: The configuration key of the limits, such as `quotas`.
    init(_ values: ConfigurationValues, key: String, over base: Quotas = Quotas()) throws(StartupError) {
        self = base
        for name in Name.allCases {
            if let limit = try values.integer("\(key).\(name.rawValue)", in: 0...1 << 50) { self[name] = limit }
        }
    }
}
