import MixModel
import TestSupport
import Testing

@testable import RoomService

/// The places of viewers over WebRTC, which several apps share.
@Suite struct WebRTCViewerLimitsTests {
    private static let two = WebRTCViewerLimits(all: 8, pullsPerApp: 2, apps: ["shop", "zoo"])

    private func refusal(
        of app: AppID, beside viewers: [AppID: Int], _ limits: WebRTCViewerLimits = Self.two,
        fromAddress: Int = 0
    ) -> String? {
        limits.refusal(of: app, viewers: viewers, fromAddress: fromAddress).map { "\($0.code) \($0.detail)" }
    }

    @Test func oneAppAloneMayTakeAllPlaces() {
        let limits = WebRTCViewerLimits(all: 8, apps: ["shop"])
        #expect(refusal(of: "shop", beside: ["shop": 7], limits) == nil)
        #expect(
            refusal(of: "shop", beside: ["shop": 8], limits)
                == "webrtc-full the limit is 8, webrtc.maxViewers: HTTP-FLV and HLS carry many more")
    }

    @Test func placesAreKeptForTheOtherApp() throws {
        #expect(Self.two.shares.kept == 2)
        #expect(refusal(of: "shop", beside: ["shop": 5]) == nil)
        let refused = try #require(refusal(of: "shop", beside: ["shop": 6]))
        #expect(refused.hasPrefix("webrtc-full the app shop has 6 of the 8 places, and the free ones are kept"))
        #expect(refused.hasSuffix("or raise webrtc.maxViewers"))
        #expect(refusal(of: "zoo", beside: ["shop": 6]) == nil)
        #expect(refusal(of: "zoo", beside: ["shop": 6, "zoo": 1]) == nil)
        #expect(refusal(of: "zoo", beside: ["shop": 6, "zoo": 2]) != nil, "all places are taken")
        // An app without an entry takes none of the kept places.
        #expect(refusal(of: .standard, beside: [.standard: 3]) == nil)
        #expect(refusal(of: .standard, beside: [.standard: 4]) != nil)
        #expect(refusal(of: .standard, beside: [.standard: 3, "shop": 2, "zoo": 2]) == nil)
    }

    @Test func anAppAndAnAddressMayHaveFewer() throws {
        let limits = WebRTCViewerLimits(all: 8, perApp: 2, perAddress: 1, apps: ["shop", "zoo"])
        let ofApp = try #require(refusal(of: "shop", beside: ["shop": 2], limits))
        #expect(ofApp.hasPrefix("webrtc-places-taken the app shop may have 2:"))
        #expect(ofApp.hasSuffix("webrtc.maxViewersPerApp"))
        #expect(refusal(of: "zoo", beside: ["shop": 2], limits) == nil)
        #expect(
            refusal(of: "zoo", beside: ["shop": 2], limits, fromAddress: 1)
                == "webrtc-places-taken the limit is 1, webrtc.maxViewersPerAddress")
    }

    /// Streams of other servers have no limit for all apps together.
    @Test func anAppPullsItsOwnNumberOfStreams() throws {
        #expect(Self.two.refusalOfPull(by: "shop", playing: 1) == nil)
        let refused = try #require(Self.two.refusalOfPull(by: "shop", playing: 2))
        #expect(refused.code == "webrtc-full" && refused.retryAfter == 10)
        #expect(refused.detail.hasPrefix("viewers of the app shop may play 2 at a time: play the program of the room"))
        #expect(refused.detail.hasSuffix("raise webrtc.maxPullsPerApp"))
        #expect(WebRTCViewerLimits().pullsPerApp == 16)
    }

    @Test func asManyPlacesAreKeptAsThereAre() {
        for (places, apps, kept) in [
            (64, 1, 32), (64, 2, 16), (64, 3, 10), (64, 40, 1), (64, 64, 1), (64, 65, 0), (1, 2, 0),
        ] {
            let names = Set((0..<apps).map { AppID("app\($0)") })
            #expect(AppShares(places: places, apps: names).kept == kept, "\(places) for \(apps)")
        }
    }

    @Test func onlyPlacesBeyondTheKeptOnesAreTakenBack() {
        let shares = AppShares(places: 8, apps: ["shop", "zoo"])
        func givers(_ app: AppID, _ taken: [AppID: Int]) -> Set<AppID> { shares.givers(to: app, taken: taken) }
        #expect(givers("zoo", ["shop": 6, "zoo": 2]) == ["shop", "zoo"])
        #expect(givers("shop", ["shop": 6, "zoo": 2]) == ["shop"])
        #expect(givers("shop", ["shop": 6]) == ["shop"])
        #expect(givers("stranger", ["shop": 4, "zoo": 2, "stranger": 2]) == ["shop", "stranger"])
    }

    /// Whatever the apps do, each gets the places that are kept for it, and all together never more than there are.
    @Test func noAppTakesWhatIsKeptForAnother() throws {
        var numbers = SeededGenerator(announcedFor: "noAppTakesWhatIsKeptForAnother")
        for _ in 0..<200 {
            let apps = (0..<Int.random(in: 1...8, using: &numbers)).map { AppID("app\($0)") }
            let shares = AppShares(places: .random(in: 1...40, using: &numbers), apps: Set(apps))
            var taken: [AppID: Int] = [:]
            for _ in 0..<300 {
                let app = try #require((apps + ["stranger"]).randomElement(using: &numbers))
                if Int.random(in: 0..<3, using: &numbers) == 0 {
                    taken[app] = max(0, taken[app, default: 0] - 1)
                } else if shares.hasPlace(for: app, taken: taken) {
                    taken[app, default: 0] += 1
                }
                let starved = apps.filter {
                    taken[$0, default: 0] < shares.kept && !shares.hasPlace(for: $0, taken: taken)
                }
                let isKept = starved.isEmpty && taken.values.reduce(0, +) <= shares.places
                try #require(isKept, "\(shares.places) places of \(apps.count) apps: \(taken)")
                guard !shares.hasPlace(for: app, taken: taken) else { continue }
                let givers = shares.givers(to: app, taken: taken)
                let robbed = givers.filter { $0 != app && apps.contains($0) && taken[$0, default: 0] <= shares.kept }
                try #require(robbed.isEmpty, "\(app) takes from \(robbed): \(taken)")
                let helpful = taken.keys.filter { giver in
                    let left = taken.merging([giver: -1], uniquingKeysWith: +)
                    return taken[giver] != 0 && shares.hasPlace(for: app, taken: left)
                }
                try #require(givers == Set(helpful), "\(app), \(shares.places) places: \(taken)")
            }
        }
    }
}
