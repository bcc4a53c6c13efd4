import MixModel
import RoomService

/// The places of Socket.IO connections, which are divided among the apps (`AppShares`). Pure.
///
/// A client of version 4 may name its app only after its connection has begun. Where several apps share the service,
/// connections without an app have a share like that of an app.
struct SocketIOPlaces: Sendable {
    /// Stands for the connections without an app. No app's name contains a slash.
    private static let appless: AppID = "/"

    let shares: AppShares
    /// The app for which connections without an app count.
    private let appOfOthers: AppID
    /// Number of connections of each app; apps without any have no entry.
    private var taken: [AppID: Int] = [:]

    /// - Parameters:
    ///   - all: Number of places of all connections together.
    ///   - apps: The apps for which places are kept.
    init(all: Int, apps: Set<AppID>) {
        if let only = apps.first, apps.count == 1 {
            // An app that is alone may take all places.
            appOfOthers = only
            shares = AppShares(places: all, apps: apps)
        } else {
            appOfOthers = Self.appless
            shares = AppShares(places: all, apps: apps.union([Self.appless]))
        }
    }

    /// Takes a place for a connection.
    ///
    /// - Parameter app: Its app; `nil` if it is not known yet.
    /// - Returns: False if it gets none.
    mutating func take(_ app: AppID?) -> Bool {
        let app = app ?? appOfOthers
        guard shares.hasPlace(for: app, taken: taken) else { return false }
        taken[app, default: 0] += 1
        return true
    }

    mutating func giveBack(_ app: AppID?) {
        let app = app ?? appOfOthers
        let left = taken[app, default: 1] - 1
        taken[app] = left > 0 ? left : nil
    }

    /// Counts a connection for another app from now on.
    ///
    /// - Returns: False if that app gets no further place; the connection then keeps its place.
    mutating func move(from old: AppID?, to app: AppID) -> Bool {
        guard old ?? appOfOthers != app else { return true }
        giveBack(old)
        if take(app) { return true }
        taken[old ?? appOfOthers, default: 0] += 1
        return false
    }

    /// Returns the reason why a connection gets no place.
    func refusal(of app: AppID?) -> String {
        let app = app ?? appOfOthers
        let (count, all) = (taken[app] ?? 0, "\(shares.places) places (socketio.maxSessions)")
        return app == Self.appless
            ? "\(count) of the \(all) belong to connections that have not named their app yet, and the free ones are kept "
                + "for the apps: retry later, or pass the token in the URL"
            : "the app \(app) has \(count) of the \(all), and the free ones are kept for other apps"
    }
}
