import MixModel
import TestSupport
import Testing

@testable import HTTPInterface

/// The places of Socket.IO connections, which several apps share.
@Suite struct SocketIOPlacesTests {
    @Test func anAppThatIsAloneMayTakeAllPlaces() {
        var places = SocketIOPlaces(all: 4, apps: ["shop"])
        func take(_ app: AppID?) -> Bool { places.take(app) }
        for app in ["shop", nil, "shop", nil] as [AppID?] { #expect(take(app)) }
        #expect(!take("shop") && !take(nil))
        let isMoved = places.move(from: nil, to: "shop")
        #expect(isMoved)
        places.giveBack("shop")
        #expect(take(nil))
    }

    @Test func connectionsWithoutAnAppHaveAShare() {
        var places = SocketIOPlaces(all: 12, apps: ["shop", "zoo"])
        func take(_ app: AppID?) -> Bool { places.take(app) }
        func moves(to app: AppID) -> Bool { places.move(from: nil, to: app) }
        #expect(places.shares.kept == 2)
        for _ in 0..<8 { #expect(take("shop")) }
        #expect(!take("shop"))
        let refusal = places.refusal(of: "shop")
        #expect(refusal.hasPrefix("the app shop has 8 of the 12 places (socketio.maxSessions), and the free ones are"))
        // Clients of the other app name it late.
        for _ in 0..<2 { #expect(take(nil) && moves(to: "zoo")) }
        #expect(take(nil) && !moves(to: "zoo"), "the last two are for others without an app")
        #expect(take(nil) && !take(nil))
        let other = places.refusal(of: nil)
        #expect(other.hasPrefix("2 of the 12 places (socketio.maxSessions) belong to connections that"), "\(other)")
        #expect(!moves(to: "shop"))
        places.giveBack("shop")
        #expect(moves(to: "zoo"))
    }

    /// Whatever clients do, each app gets the places that are kept for it, and all together never more than there are.
    @Test func noAppTakesWhatIsKeptForAnother() throws {
        var numbers = SeededGenerator(announcedFor: "SocketIOPlacesTests")
        for _ in 0..<200 {
            let apps = (0..<Int.random(in: 2...6, using: &numbers)).map { AppID("app\($0)") }
            let all = Int.random(in: 1...40, using: &numbers)
            var places = SocketIOPlaces(all: all, apps: Set(apps))
            // Connections by their apps; `nil` = without an app.
            var connections: [AppID?] = []
            for _ in 0..<300 {
                let app = (apps + ["stranger"]).randomElement(using: &numbers)
                let chosen = connections.indices.randomElement(using: &numbers)
                switch (Int.random(in: 0..<4, using: &numbers), chosen) {
                case (0, let chosen?): places.giveBack(connections.remove(at: chosen))
                case (1, let chosen?):
                    if let app, places.move(from: connections[chosen], to: app) { connections[chosen] = app }
                case (2, _): if places.take(nil) { connections.append(nil) }
                default: if places.take(app) { connections.append(app) }
                }
                try #require(connections.count <= all)
                for app in apps.map(Optional.some) + [nil]
                where connections.count(where: { $0 == app }) < places.shares.kept {
                    var trial = places
                    let getsPlace = trial.take(app)
                    try #require(getsPlace, "\(all) places of \(apps.count) apps: \(connections)")
                }
            }
        }
    }
}
