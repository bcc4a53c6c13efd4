import RoomService

extension AppShares {
    /// Returns the warning that no place is kept for any app; `nil` if places are kept.
    ///
    /// - Parameters:
    ///   - key: Configuration key of the number of places.
    ///   - sharers: Those that share the places; `nil` = the apps.
    func warning(about key: String, sharers: String? = nil) -> String? {
        guard kept == 0 else { return nil }
        let sharers = sharers ?? "\(apps.count) apps"
        return "\(key): \(places) places for \(sharers), so one app may take all of them: raise it to at least "
            + "\(apps.count)"
    }
}
