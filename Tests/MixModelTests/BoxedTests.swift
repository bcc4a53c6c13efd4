import Foundation
import MixModel
import Testing

@Suite struct BoxedTests {
    private struct Holder: Hashable, Codable {
        var name: String
        @Boxed var part: [Int]?
    }

    @Test func copiesDoNotSeeEachOthersChanges() {
        let first = Holder(name: "a", part: [1])
        var second = first
        #expect(first == second)
        second.part?.append(2)
        #expect(first.part == [1] && second.part == [1, 2] && first != second)
        let third = second
        second.part = nil
        #expect(second.part == nil && third.part == [1, 2])
        #expect(Set([first, third, Holder(name: "a", part: [1])]).count == 2)
    }

    /// Documents are the same as without the wrapper.
    @Test(arguments: [(nil, #"{"name":"a"}"#), ([1, 2], #"{"name":"a","part":[1,2]}"#)] as [([Int]?, String)])
    func documentsSayNothingOfIt(part: [Int]?, document: String) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        #expect(String(decoding: try encoder.encode(Holder(name: "a", part: part)), as: UTF8.self) == document)
        #expect(try JSONDecoder().decode(Holder.self, from: Data(document.utf8)).part == part)
        #expect(try JSONDecoder().decode(Holder.self, from: Data(#"{"name":"a","part":null}"#.utf8)).part == nil)
    }
}
