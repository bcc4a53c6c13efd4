import Foundation
import LayoutEngine
import MixModel
import Testing

@testable import MediaFormats
@testable import ProgramSplicer

/// The layout as a script tag: when there is one, and what it says.
@Suite struct ViewerLayoutTests {
    private struct Read: Decodable, Equatable {
        struct Region: Decodable, Equatable {
            var uid: String
            var name: String?
            var alone: Bool?
            var volume: Int?
            var x, w: Int
        }
        var regions: [Region]
        var ts: Int64
    }

    private static let alone = SEILayout.Picture.bypass("alice/camera", size: .init(width: 720, height: 1280))

    /// Returns a scene with these users side by side, each 10 pixels wide.
    private static func mix(_ users: [String], by transition: Transition = .cut) -> SEILayout.Picture {
        .mix(
            Scene(
                canvas: .portrait,
                panes: users.enumerated().map { index, user in
                    Pane(source: "\(user)/camera", user: user, x: index * 10, y: 0, width: 10, height: 1280)
                }, transition: transition))
    }

    /// Reads a tag with the general decoder of AMF0.
    private static func read(_ tag: FLVTag?) throws -> Read {
        let values = AMF0.decodeAll(try #require(tag).body)
        #expect(values.count == 2 && values.first?.text == "onLayout")
        return try JSONDecoder().decode(Read.self, from: Data(#require(values.last?.text).utf8))
    }

    private static func note(
        _ picture: SEILayout.Picture, in layout: inout ViewerLayout, people: [SourceID: SEILayout.Person] = [:],
        volumes: [SourceID: Int]? = nil, at timestamp: UInt32 = 0, isEntry: Bool = true
    ) -> FLVTag? {
        layout.note(
            picture, people: people, volumes: volumes, at: timestamp, isEntry: isEntry, wallClock: { 1_700_000_000_123 }
        )
    }

    @Test func aChangeIsToldOnce() throws {
        var layout = ViewerLayout()
        let first = Self.note(Self.alone, in: &layout, at: 40)
        #expect(first?.timestamp == 40 && first?.kind == .script)
        #expect(
            try Self.read(first)
                == Read(regions: [.init(uid: "alice", volume: nil, x: 0, w: 720)], ts: 1_700_000_000_123))
        #expect(Self.note(Self.alone, in: &layout, at: 80) == nil)
        let both = Self.note(Self.mix(["alice", "bob"]), in: &layout, at: 120)
        #expect(both?.timestamp == 120)
        #expect(
            try Self.read(both).regions
                == [.init(uid: "alice", volume: nil, x: 0, w: 10), .init(uid: "bob", volume: nil, x: 10, w: 10)])
        let same = Self.mix(["alice", "bob"], by: Transition(duration: 400))
        #expect(Self.note(same, in: &layout, at: 160) == nil, "nobody has moved")
        let empty = Self.note(Self.mix([]), in: &layout, at: 200)
        #expect(try Self.read(empty).regions == [])
        #expect(layout.tag == empty)
    }

    /// The last pictures of a feed may be sent in the same step as the first of the next one.
    @Test func anotherFeedWaitsForItsKeyframe() {
        var layout = ViewerLayout()
        _ = Self.note(Self.alone, in: &layout)
        let both = Self.mix(["alice", "bob"])
        #expect(Self.note(both, in: &layout, at: 40, isEntry: false) == nil)
        #expect(Self.note(both, in: &layout, at: 80)?.timestamp == 80)
        #expect(Self.note(Self.mix(["bob", "alice"]), in: &layout, at: 120, isEntry: false)?.timestamp == 120)
        #expect(Self.note(.bypass("bob/camera", size: nil), in: &layout, at: 160, isEntry: false) == nil)
        #expect(Self.note(.bypass("bob/camera", size: nil), in: &layout, at: 200)?.timestamp == 200)
        let size = LayoutParticipant.Size(width: 720, height: 1280)
        let known = Self.note(.bypass("bob/camera", size: size), in: &layout, at: 240, isEntry: false)
        #expect(known?.timestamp == 240, "of the same feed")
    }

    @Test func volumesComeWithChangesAndAreNone() throws {
        var layout = ViewerLayout()
        let both = Self.mix(["alice", "bob"])
        let first = Self.note(both, in: &layout, volumes: ["alice/camera": 40])
        #expect(try Self.read(first).regions.map(\.volume) == [40, 0])
        #expect(Self.note(both, in: &layout, volumes: ["alice/camera": 80]) == nil)
        let same = Self.mix(["alice", "bob"], by: Transition(duration: 400))
        #expect(Self.note(same, in: &layout, volumes: ["alice/camera": 90]) == nil)
        let silent = Self.note(same, in: &layout)
        #expect(try Self.read(silent).regions.map(\.volume) == [nil, nil], "an old volume would stay")
    }

    /// A name is told when it changes, also that of a participant who is alone or only heard.
    @Test func namesAreTold() throws {
        var layout = ViewerLayout()
        let first = Self.note(Self.alone, in: &layout, people: ["alice/camera": .init()])
        #expect(try Self.read(first).regions.map(\.name) == [nil])
        let named: [SourceID: SEILayout.Person] = ["alice/camera": .init(name: "Alice A.")]
        let second = Self.note(Self.alone, in: &layout, people: named, isEntry: false)
        #expect(try Self.read(second).regions.map(\.name) == ["Alice A."])
        #expect(Self.note(Self.alone, in: &layout, people: named) == nil)
        let others: [SourceID: SEILayout.Person] = ["alice/camera": .init(name: "Alice A."), "zoe/camera": .init()]
        #expect(Self.note(Self.alone, in: &layout, people: others) == nil, "she is not in the picture")

        var scene = Scene(
            canvas: .portrait,
            panes: [
                Pane(source: "alice/camera", user: "alice", x: 0, y: 0, width: 10, height: 10),
                Pane(
                    source: "carol/camera", user: "carol", x: 10, y: 0, width: 10, height: 10, isLive: false,
                    card: Card(name: "Carol C.", user: "carol")),
            ])
        scene.sound = SceneSound(levels: [.init(source: "alice/camera"), .init(source: "bob/audio")])
        let long = String(repeating: "ü", count: 200)
        let mix = Self.note(
            .mix(scene), in: &layout,
            people: [
                "alice/camera": .init(name: "alice"), "bob/audio": .init(name: long, isPlayable: false),
                "dora/camera": .init(name: "Dora"),
            ])
        let regions = try Self.read(mix).regions
        #expect(regions.map(\.uid) == ["alice", "carol", "bob"])
        let shortened = String(repeating: "ü", count: 46) + "…"
        #expect(shortened.utf8.count == 95 && SEILayout.longestName == 96)
        #expect(regions.map(\.name) == [nil, "Carol C.", shortened])
        // carol has no stream now.
        #expect(regions.map(\.alone) == [nil, false, false])
        // Another server may have a URL that cannot be played; a stream of audio has no address for viewers.
        for person in [SEILayout.Person(isPlayable: false), .init(name: "Alice A.", isPlayable: false)] {
            let refused = Self.note(Self.alone, in: &layout, people: ["alice/camera": person])
            #expect(try Self.read(refused).regions.map(\.alone) == [false])
        }
        for (source, alone) in [("bob/audio", false), ("bob/audio#audio", false), ("bob/screen@next#video", nil)]
            as [(SourceID, Bool?)]
        {
            var one = ViewerLayout()
            let feed = Self.note(.bypass(source, size: nil), in: &one, people: [source: .init()])
            #expect(try Self.read(feed).regions.map(\.alone) == [alone], "\(source)")
        }
    }

    @Test func aCrowdIsCutOff() throws {
        var layout = ViewerLayout()
        let tag = Self.note(Self.mix((0..<500).map { "user\($0)" }), in: &layout)
        #expect(try Self.read(tag).regions.count == ViewerLayout.mostRegions)
    }

    @Test func aViewerWhoJoinsGetsItBeforeItsPicture() throws {
        let header = FLVTag(role: .sequenceHeader(.video), timestamp: 1000, body: [0x17, 0])
        let group = [1000, 1040, 1080].map {
            FLVTag(role: .frame(.video, isIDR: $0 == 1000), timestamp: $0, body: [0x27, 1])
        }
        var layout = ViewerLayout()
        #expect(layout.inserted(between: [header], and: group) == [header] + group, "there is none yet")
        var tag = try #require(Self.note(Self.alone, in: &layout, at: 400))
        #expect(layout.inserted(between: [], and: []) == [])
        tag.timestamp = 1000
        #expect(layout.inserted(between: [header], and: group) == [header, tag] + group, "it is older than the group")
        #expect(layout.inserted(between: [header], and: []) == [header, tag])
        let change = try #require(Self.note(Self.mix(["bob"]), in: &layout, at: 1080))
        #expect(layout.inserted(between: [header], and: group) == [header, group[0], group[1], change, group[2]])
    }

    @Test func timestampsWrap() throws {
        let group = [FLVTag(role: .frame(.video, isIDR: true), timestamp: 20, body: [0x17, 1])]
        var layout = ViewerLayout()
        var tag = try #require(Self.note(Self.alone, in: &layout, at: .max - 20))
        tag.timestamp = 20
        #expect(layout.inserted(between: [], and: group) == [tag] + group)
    }
}
