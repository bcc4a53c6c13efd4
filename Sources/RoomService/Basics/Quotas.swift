import MixModel

/// Limits on one app's simultaneous use of the service, so that no app exhausts what others need.
package struct Quotas: Hashable, Sendable {
    package enum Name: String, CaseIterable, Sendable {
        /// Stored rooms.
        case rooms
        /// Explicit tasks that have not ended permanently, and automatic tasks on air or waiting for capacity.
        case tasks
        /// Subscriptions of every kind.
        case subscriptions
        /// Clients connected to rooms' feeds.
        case feeds
        /// Participants of one room.
        case participants
        /// Streams of publishers at the service's ingest, with those whose places are kept.
        case publishers
        /// Size of the documents of the app's rooms, in bytes.
        case storedBytes
    }

    private var limits: [Name: Int] = [:]

    private static func standard(_ name: Name) -> Int {
        switch name {
        case .rooms: 100_000
        case .tasks: 10_000
        case .subscriptions: 100
        case .feeds: 1024
        case .participants: 1000
        // Half of what an ingest takes, so that one app alone cannot fill it.
        case .publishers: 512
        case .storedBytes: 1 << 30
        }
    }

    /// The limit for a quota. Defaults to the standard limit.
    package subscript(name: Name) -> Int {
        get { limits[name] ?? Self.standard(name) }
        set { limits[name] = newValue }
    }

    package init() {}
}

/// The quotas of every app.
package struct AppQuotas: Sendable {
    package var standard = Quotas()
    package var ofApps: [AppID: Quotas] = [:]

    package init(standard: Quotas = Quotas(), ofApps: [AppID: Quotas] = [:]) {
        self.standard = standard
        self.ofApps = ofApps
    }

    package func of(_ app: AppID) -> Quotas { ofApps[app] ?? standard }
}
