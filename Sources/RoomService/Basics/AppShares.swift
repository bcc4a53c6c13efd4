import MixModel

/// The division of a service's places among its apps: half of the places are kept, the same number for each app, and
/// the others are for those who come first. Pure.
///
/// An app that has fewer places than are kept for it always gets another one, whatever the other apps do.
package struct AppShares: Hashable, Sendable {
    /// Number of places of all apps together.
    package var places: Int
    /// The apps for which places are kept. Other apps take only places that are not kept.
    package var apps: Set<AppID>

    package init(places: Int, apps: Set<AppID> = [.standard]) {
        self.places = places
        self.apps = apps
    }

    /// Number of places that are kept for each app: at least one, unless there are fewer places than apps.
    package var kept: Int {
        let count = max(1, apps.count)
        return max(places / (2 * count), min(1, places / count))
    }

    /// Returns whether the app may take one more place.
    ///
    /// - Parameter taken: Numbers of places that apps have.
    func hasPlace(for app: AppID, taken: [AppID: Int]) -> Bool {
        let all = taken.values.reduce(0, +)
        guard all < places else { return false }
        if apps.contains(app), taken[app, default: 0] < kept { return true }
        let keptForOthers = apps.reduce(0) { $0 + ($1 == app ? 0 : max(0, kept - taken[$1, default: 0])) }
        return all + keptForOthers < places
    }
}
