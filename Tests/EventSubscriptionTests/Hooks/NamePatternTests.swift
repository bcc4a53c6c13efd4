import MixModel
import TestSupport
import Testing

@testable import EventSubscription

/// The meaning of names.
@Suite struct NamePatternTests {
    private func match(_ pattern: String, _ name: String, app: String = "live", vhost: String = "") throws -> String? {
        let captures = try NamePattern(pattern).match([name, app, vhost])
        return captures.map { captures in
            NamePattern.Field.allCases.compactMap { field in captures[field].map { "\(field.rawValue)=\($0)" } }
                .joined(separator: " ")
        }
    }

    @Test(arguments: [
        ("{room}__{user}", "lobby__alice", "room=lobby user=alice"), ("{room}__{user}", "lobby_alice", nil),
        ("{room}__{user}", "a__b__c", "room=a user=b__c"), ("{room}__{user}", "a___b", "room=a user=_b"),
        ("{room}__{user}", "__b", nil), ("{room}__{user}", "a__", nil), ("{room}__{user}", "", nil),
        ("{room}__{user}", "____b", "room=_ user=_b"),
        ("{user}.{room}.{stream}", "alice.lobby.screen", "room=lobby user=alice stream=screen"),
        ("{room}-{user}-x", "a-b-x-x", "room=a user=b-x"), ("{room}-{user}-x", "a-b-y", nil),
        ("{room}-{user}-x", "a--x", nil), ("{room}__{user}_*", "r__u_20260131", "room=r user=u"),
        ("{room}__{user}_*", "r__u_", "room=r user=u"), ("{room}__{user}_*", "r__u", nil),
        ("*-{room}__{user}", "-r__u", "room=r user=u"), ("*-{room}__{user}", "eu-1-r__u", "room=1-r user=u"),
        ("s-{room}__{user}", "s-r__u", "room=r user=u"), ("s-{room}__{user}", "t-r__u", nil),
        ("日本{room}・{user}", "日本部屋・太郎", "room=部屋 user=太郎"), ("*", "", ""), ("*", "anything", ""),
        // The texts are equal as characters, but not as bytes.
        ("caf\u{E9}-{room}__{user}", "cafe\u{301}-r__u", nil),
    ])
    func namesAreTakenApart(_ pattern: String, _ name: String, _ expected: String?) throws {
        #expect(try match(pattern, name) == expected)
    }

    @Test(arguments: [
        ("{room}/{user}", "lobby", "", "room=lobby user=n"), ("live/{room}__{user}", "live", "", nil),
        ("show-{room}/{user}", "show-1", "", "room=1 user=n"), ("show-{room}/{user}", "live", "", nil),
        ("{app}.example/{room}/{user}", "lobby", "shop.example", "app=shop room=lobby user=n"),
        ("{app}.example/{room}/{user}", "lobby", "shop.test", nil),
        ("*/{room}/{user}", "lobby", "", "room=lobby user=n"),
    ])
    func applicationAndHostMayDecide(_ pattern: String, _ app: String, _ vhost: String, _ expected: String?) throws {
        #expect(try match(pattern, "n", app: app, vhost: vhost) == expected)
    }

    @Test(arguments: [
        ("", "1 to 256 bytes"), (String(repeating: "a", count: 257), "1 to 256 bytes"), ("{room", "} after"),
        ("room}", "{ before"), ("{room}{user}", "text between"), ("{room}*", "text between"), ("**", "text between"),
        ("{rom}__{user}", "did you mean \"room\"?"), ("{ROOM}__{user}", "did you mean \"room\"?"),
        ("{}", "one of {app}"),
        ("{room}__{room}", "each placeholder once"), ("{room}/{room}", "each placeholder once"),
        ("a/b/c/d", "host/application/name"), ("/{room}__{user}", "host/application/name"),
        ("{room}__{user}\n", "control characters"),
    ])
    func badPatternsAreNamedWithTheCure(_ pattern: String, _ expected: String) {
        let error = #expect(throws: InputError.self) { try NamePattern(pattern) }
        #expect(error?.description.contains(expected) == true, "\(error?.description ?? "")")
    }

    /// Captures of a pattern can be joined to the name again.
    @Test func whatIsCapturedIsTheName() throws {
        var random = SeededGenerator(announcedFor: "whatIsCapturedIsTheName")
        let alphabet = ["a", "b", "_", "__", "-", "é", "日"]
        func word(_ most: Int) -> String {
            (0..<Int.random(in: 1...most, using: &random)).map { _ in alphabet.randomElement(using: &random) ?? "a" }
                .joined()
        }
        var matched = 0
        for _ in 0..<20_000 {
            let (first, second, third) = (word(2), word(2), word(2))
            let text = "\(first){room}\(second){user}\(third)"
            let name = Bool.random(using: &random) ? first + word(3) + second + word(3) + third : word(9)
            guard let captures = try NamePattern(text).match([name, "", ""]) else {
                // Brute force does not find a match either.
                #expect(
                    !Self.canMatch(Array(name.utf8), [first, second, third].map { Array($0.utf8) }), "\(text) \(name)")
                continue
            }
            matched += 1
            let again = first + (captures[.room] ?? "") + second + (captures[.user] ?? "") + third
            #expect(again.hasSameUTF8(as: name), "\(text) \(name)")
        }
        #expect(matched > 1000)
    }

    private static func canMatch(_ name: [UInt8], _ words: [[UInt8]]) -> Bool {
        guard name.starts(with: words[0]), name.count > words[0].count + words[2].count,
            name.suffix(words[2].count).elementsEqual(words[2])
        else { return false }
        let inner = Array(name[words[0].count..<name.count - words[2].count])
        guard inner.count >= words[1].count + 2 else { return false }
        return (1...inner.count - words[1].count - 1).contains { inner[$0...].starts(with: words[1]) }
    }

    @Test func costIsBounded() throws {
        let pattern = try NamePattern(
            String(repeating: "a", count: 120) + "b{room}" + String(repeating: "a", count: 120) + "b")
        let clock = ContinuousClock()
        let name = String(repeating: "a", count: NamePattern.longestName)
        let time = try clock.measure {
            for _ in 0..<4 { #expect(pattern.match([name, "", ""]) == nil) }
            let worst = try NamePattern("*" + String(repeating: "a", count: 200) + "b*")
            for _ in 0..<4 { #expect(worst.match([name, "", ""]) == nil) }
            for _ in 0..<4 { #expect(worst.match([String(repeating: "a", count: 1 << 20), "", ""]) == nil) }
        }
        // Most of this limit is for debug builds; backtracking would take years.
        #expect(time < .seconds(30))
    }
}

/// Rooms and participants of streams.
@Suite struct NamePatternsTests {
    private func names(
        _ name: String?, _ patterns: [String] = [], app: String = "live", arguments: String? = nil, tenant: AppID? = nil
    ) throws -> String {
        let rules = try NamePatterns(
            patterns, allowsArguments: arguments != nil, tenant: tenant, tenants: ["shop"])
        let stream = MediaServerStream(app: app, name: name, arguments: HookForm((arguments ?? "").utf8))
        switch rules.names(of: stream) {
        case .success(let names): return "\(names.room) \(names.user) \(names.stream)"
        case .failure(let reason): return reason.text
        }
    }

    @Test func theFirstPatternWithValidNamesDecides() throws {
        #expect(try names("lobby__alice") == "lobby alice camera")
        let patterns = ["{room}__{user}__{stream}", "{room}__{user}", "{user}"]
        #expect(throws: InputError.self) { try names("x", patterns) }
        let two = Array(patterns.prefix(2))
        #expect(try names("lobby__alice__screen", two) == "lobby alice screen")
        #expect(try names("lobby__alice__phone", two) == "lobby alice__phone camera")
        #expect(
            try names("n", ["{room}__{user}", "x/{room}-{user}"], app: "lobby").contains("fits none of 2 patterns"))
        #expect(try names("alice", ["{room}/{user}"], app: "lobby") == "lobby alice camera")
    }

    @Test(arguments: ["a b__c", "lobby__al%ice", "lobby__cafe\u{301}", "..__x", "lobby__\u{301}x", "lobby__a/b"])
    func namesThatNoIDMayHaveAreRefusedWithoutQuotingThem(_ name: String) throws {
        let reason = try names(name)
        #expect(reason.contains("is not valid: expected"), "\(reason)")
        #expect(!reason.contains(name))
    }

    @Test func whatIsNotUTF8IsNoName() throws { #expect(try names(nil) == "the name is not UTF-8") }

    @Test func longNamesBelongToNoRoom() throws {
        let long = String(repeating: "a", count: 129)
        #expect(try names("lobby__\(long)").contains("1 to 128 bytes"))
        #expect(try names(String(repeating: "a", count: 1 << 20) + "__b").contains("does not fit"))
    }

    @Test func argumentsCountOnlyIfAllowed() throws {
        #expect(try names("x__y", arguments: "room=lobby&user=alice&stream=audio") == "lobby alice audio")
        #expect(try names("key", arguments: "room=lobby&user=alice&user=bob") == "lobby alice camera")
        #expect(try names("x__y", arguments: "user=alice") == "x alice camera")
        #expect(try names("alice", ["{user}"], arguments: "room=lobby") == "lobby alice camera")
        #expect(try names("alice", ["{user}"], arguments: "").hasPrefix("neither the name"))
        // An invalid room is not replaced by the pattern's.
        #expect(try names("x__y", arguments: "room=a%20b").contains("the room is not valid"))
        #expect(try names("x__y", arguments: "room=%FF").contains("the room is not valid"))
        let closed = try NamePatterns([])
        let stream = MediaServerStream(app: "live", name: "x__y", arguments: HookForm("room=lobby&user=eve".utf8))
        #expect(try closed.names(of: stream).get().room == "x")
    }

    @Test func theAppIsFixedOrChosenByTheName() throws {
        #expect(try names("lobby__alice", tenant: "shop") == "shop/lobby alice camera")
        let patterns = ["{app}.{room}.{user}"]
        #expect(try names("shop.lobby.alice", patterns) == "shop/lobby alice camera")
        #expect(try names("default.lobby.alice", patterns) == "lobby alice camera")
        #expect(try names("other.lobby.alice", patterns).contains("expected one of the configured apps"))
        #expect(throws: InputError.self) { try names("x", patterns, tenant: "shop") }
        #expect(throws: InputError.self) { try NamePatterns(Array(repeating: "{room}__{user}", count: 17)) }
    }
}
