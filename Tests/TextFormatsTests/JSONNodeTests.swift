import TestSupport
import TextFormats
import Testing

struct JSONNodeTests {
    private static let limits = JSONLimits(deepest: 8)

    private func text(_ node: JSONNode?, in bytes: [UInt8]) -> String? {
        node.map { String(decoding: bytes[$0.range], as: UTF8.self) }
    }

    @Test func everyNodeKnowsItsPlace() throws {
        let bytes = Array("\u{FEFF}{ \"ä\" : [1.5e1,\n  true] ,\r\n\"b\":{}, \"\\u0062\": \"é\\n\" }".utf8)
        let node = try JSONNode(parsing: bytes, limits: Self.limits)
        #expect(text(node, in: bytes) == String(decoding: bytes.dropFirst(3), as: UTF8.self))
        #expect(text(node[key: "ä"], in: bytes) == "[1.5e1,\n  true]")
        #expect(text(node[key: "b"], in: bytes) == "\"é\\n\"", "the last of two, however its key is written")
        #expect(node[key: "c"] == nil)
        guard case .object(let members) = node.value, case .array(let elements) = members[0].node.value else {
            Issue.record("\(node.value)")
            return
        }
        #expect(members.map(\.key) == ["ä", "b", "b"])
        #expect(members.map(\.keyPosition.line) == [1, 3, 3])
        #expect(members.map(\.keyPosition.column) == [6, 1, 9])
        #expect(elements.map { text($0, in: bytes) } == ["1.5e1", "true"])
        #expect(elements.map(\.position.line) == [1, 2])
        #expect(elements.map(\.position.column) == [14, 3])
        for element in elements { #expect(JSONPosition(of: element.position.offset, in: bytes) == element.position) }
    }

    @Test func whatIsIsolatedStandsWhereItStood() throws {
        let bytes = Array("{\"ä\":\n 1,\n  \"t\": {}}".utf8)
        let node = try #require(JSONNode(parsing: bytes, limits: Self.limits)[key: "t"])
        #expect(String(decoding: node.isolated(in: bytes), as: UTF8.self) == "      \n   \n       {}")
    }

    @Test(arguments: [
        (JSONLimits(longest: 3, deepest: 8), "[ ]", "[  ]", JSONFailure.Problem.length),
        (JSONLimits(deepest: 2), "[[1]]", "[[[]]]", .depth),
        (JSONLimits(deepest: 2, countsScalars: true), "[[]]", "[[1]]", .depth),
        (JSONLimits(deepest: 8, longestKey: 2), "{\"é\":1}", "{\"éa\":1}", .keyLength),
        (JSONLimits(deepest: 8, mostMembers: 1), "[{\"a\":1},{\"a\":1}]", "{\"a\":1,\"b\":1}", .members),
        (JSONLimits(deepest: 8, refusesRepeatedKeys: true), "[{\"a\":1},{\"a\":1}]", "{\"a\":1,\"a\":1}", .repeatedKey),
        (JSONLimits(deepest: 8), "0", "01", .integer),
        (JSONLimits(deepest: 8, endsNumbersAtZero: true), "0", "01", .endOfDocument),
    ])
    func limitsAreKept(_ limits: JSONLimits, good: String, bad: String, problem: JSONFailure.Problem) throws {
        _ = try JSONNode(parsing: Array(good.utf8), limits: limits)
        let failure = #expect(throws: JSONFailure.self) { try JSONNode(parsing: Array(bad.utf8), limits: limits) }
        #expect(failure?.problem == problem)
    }

    /// Any bytes give an answer, and never a position outside of them.
    @Test func anyBytesAreTaken() {
        var random = SeededGenerator(announcedFor: "JSON nodes")
        let alphabet = Array("{}[]\":,\\ t1\nu".utf8)
        for _ in 0..<20_000 {
            let bytes = (0..<Int.random(in: 0...40, using: &random)).compactMap { _ in
                alphabet.randomElement(using: &random)
            }
            do {
                let node = try JSONNode(parsing: bytes, limits: Self.limits)
                #expect(node.end <= bytes.count)
            } catch {
                #expect(error.start <= error.offset && error.offset <= bytes.count)
            }
        }
    }
}
