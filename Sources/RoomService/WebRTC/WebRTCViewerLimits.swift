import MixModel

/// Limits on the number of viewers over WebRTC. Pure.
package struct WebRTCViewerLimits: Hashable, Sendable {
    /// Maximum number of viewers, of which each app has a share (`AppShares`).
    package var all: Int
    package var perApp: Int
    /// Maximum number from one address, which may be a proxy's.
    package var perAddress: Int
    /// Maximum number of streams of other servers that one app's viewers play at a time. Each is one connection for all
    /// its viewers. There is no limit for all apps together, so that no app takes another one's.
    package var pullsPerApp: Int
    /// The apps that have a share.
    package var apps: Set<AppID>

    package init(
        all: Int = 64, perApp: Int? = nil, perAddress: Int? = nil, pullsPerApp: Int = 16,
        apps: Set<AppID> = [.standard]
    ) {
        self.all = all
        self.perApp = perApp ?? all
        self.perAddress = perAddress ?? all
        self.pullsPerApp = pullsPerApp
        self.apps = apps
    }

    package var shares: AppShares { AppShares(places: all, apps: apps) }

    /// Returns the reason why one more viewer gets no place; `nil` if it gets one.
    ///
    /// - Parameters:
    ///   - app: The app whose stream the viewer wants to play.
    ///   - viewers: Number of viewers of each app.
    ///   - fromAddress: Number of viewers from the address of the new one.
    func refusal(of app: AppID, viewers: [AppID: Int], fromAddress: Int) -> OrchestratorError? {
        let all = viewers.values.reduce(0, +)
        if all >= self.all { return .tooManyViewers(self.all) }
        let own = viewers[app, default: 0]
        if own >= perApp { return .tooManyViewersOfApp(app, perApp) }
        if fromAddress >= perAddress { return .tooManyViewersFromAddress(perAddress) }
        return shares.hasPlace(for: app, taken: viewers) ? nil : .restIsKept(of: self.all, from: app, own)
    }

    /// Returns the reason why the app's viewers may not play one more stream of another server; `nil` if they may.
    ///
    /// - Parameter playing: Number of such streams that they play now.
    func refusalOfPull(by app: AppID, playing: Int) -> OrchestratorError? {
        playing < pullsPerApp ? nil : .tooManyPulled(app, pullsPerApp)
    }
}
