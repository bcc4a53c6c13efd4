import Foundation
import Testing

@testable import HTTPInterface
@testable import MixOrchestrator
@testable import RoomService

struct PlaybackSettingsTests {
    @Test func viewersLeaveRoomForEverythingElse() {
        var settings = PlaybackSettings()
        #expect(settings.fit(connections: 16_384, descriptors: 20_000) == [])
        #expect(settings.maxViewers == 10_000)
        let warnings = settings.fit(connections: 4096, descriptors: 2048)
        #expect(settings.maxViewers == 1024)
        #expect(warnings.count == 2)
        #expect(warnings[0].contains("http.maxConnections is 4096") && warnings[1].contains("LimitNOFILE="))
        // A minimum of viewers is admitted even with very few descriptors.
        _ = settings.fit(connections: 16_384, descriptors: 256)
        #expect(settings.maxViewers == 64)
        var few = PlaybackSettings()
        few.maxViewers = 3
        #expect(few.fit(connections: 16, descriptors: 1030) == [])
    }

    @Test func theLimitOfDescriptorsIsRaised() throws {
        let limit = try #require(DescriptorLimit.raise())
        var now = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &now)
        #expect(Int(clamping: now.rlim_cur) == limit && now.rlim_cur == now.rlim_max)
    }
}

struct SignURLCommandTests {
    private func sign(_ arguments: String...) throws -> String {
        try SignURLCommand.parse(arguments).signed(now: 1_000_000)
    }

    @Test func aSignedURLOpensItsPath() throws {
        let url = try sign(
            "http://h:1/live/a%20b.flv?task=x&auth_key=old", "--key", "secret", "--ttl", "60", "--uid", "u7")
        let parts = try #require(URLComponents(string: url))
        #expect(url.hasPrefix("http://h:1/live/a%20b.flv?task=x&auth_key=1000060-") && url.contains("-u7-"))
        let value = parts.queryItems?.last { $0.name == "auth_key" }?.value
        try PlaybackAccess(keys: ["secret"]).check(path: "/live/a%20b.flv", authKey: value, now: 1_000_060)
    }

    @Test(arguments: [
        ["live/a.flv", "--key", "k"], ["http://h/a.flv"], ["http://h/a.flv", "--key", "k", "--uid", "a-b"],
    ])
    func whatCannotBeSignedIsTold(_ arguments: [String]) {
        #expect(throws: (any Error).self) { try SignURLCommand.parse(arguments).signed(now: 0) }
    }
}
