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
    package func hasPlace(for app: AppID, taken: [AppID: Int]) -> Bool {
        let all = taken.values.reduce(0, +)
        guard all < places else { return false }
        if apps.contains(app), taken[app, default: 0] < kept { return true }
        return all + keptForOthers(than: app, taken) < places
    }

    /// Number of free places that are kept for the other apps.
    private func keptForOthers(than app: AppID, _ taken: [AppID: Int]) -> Int {
        let kept = kept
        return apps.reduce(0) { $0 + ($1 == app ? 0 : max(0, kept - taken[$1, default: 0])) }
    }

    /// Returns the apps that can lose a place to an app which otherwise gets none, for places that can be taken back.
    ///
    /// The app itself may be among them, but no other app that has only the places that are kept for it.
    ///
    /// - Parameter taken: Numbers of places that apps have.
    func givers(to app: AppID, taken: [AppID: Int]) -> Set<AppID> {
        let kept = kept
        let free = places - taken.values.reduce(0, +) + 1 - keptForOthers(than: app, taken)
        let givers = taken.filter { giver, count in
            guard count > 0 else { return false }
            let isKept = apps.contains(giver) && count <= kept
            if giver == app { return free > 0 || isKept }
            // A kept place that another app loses stays kept for that app.
            return free > (isKept ? 1 : 0)
        }
        return Set(givers.keys)
    }
}
