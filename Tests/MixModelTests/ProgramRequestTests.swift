import Foundation
import MixModel
import Testing
import TextFormats

/// Messages between workers and the service about programs of other nodes.
@Suite struct ProgramRequestTests {
    private static let detour = ProgramDetour(
        socket: "/data/programs/programs.sock", task: "auto-demo", room: "demo")

    @Test func requestsAreReadAsWritten() throws {
        let line = Self.detour.request
        #expect(line == #"{"view":{"_0":"auto-demo","room":"demo"}}"#)
        #expect(
            try JSONDecoder().decode(ProgramRequest.self, from: Data(line.utf8))
                == .view("auto-demo", room: "demo"))
        // Workers send the same line to relays and to the service.
        let wish = try RelayCommand.requestKeyframe.document()
        #expect(try JSONDecoder().decode(ProgramRequest.self, from: Data(wish.utf8)) == .requestKeyframe)
        let odd = ProgramDetour(socket: "", task: TaskID("a/\"ü\n"), room: RoomID("\u{1}"))
        #expect(
            try JSONDecoder().decode(ProgramRequest.self, from: Data(odd.request.utf8))
                == .view(odd.task, room: odd.room))
        #expect(!odd.request.utf8.contains(UInt8(ascii: "\n")))
    }

    /// Services and workers of earlier releases neither write nor read detours.
    @Test func detoursAreOptional() throws {
        let early = #"{"allowProgram":{"request":1,"session":"s","task":"auto-demo","socket":"/s"}}"#
        #expect(
            try JSONDecoder().decode(IngestCommand.self, from: Data(early.utf8))
                == .allowProgram(request: 1, session: "s", task: "auto-demo", socket: "/s"))
        #expect(
            try JSONDecoder().decode(PlayOrigin.self, from: Data(#"{"program":{"socket":"/s"}}"#.utf8))
                == .program(socket: "/s"))
        let command = IngestCommand.allowProgram(
            request: 1, session: "s", task: "auto-demo", socket: "/s", detour: Self.detour)
        let line = try DocumentEncoder.json(command)
        #expect(try JSONDecoder().decode(IngestCommand.self, from: Data(line.utf8)) == command)
        enum Earlier: Hashable, Codable {
            case allowProgram(request: Int, session: String, task: String, socket: String)
        }
        #expect(
            try JSONDecoder().decode(Earlier.self, from: Data(line.utf8))
                == .allowProgram(request: 1, session: "s", task: "auto-demo", socket: "/s"))
        let origin = PlayOrigin.program(socket: "/s", detour: Self.detour)
        #expect(try JSONDecoder().decode(PlayOrigin.self, from: JSONEncoder().encode(origin)) == origin)
    }

    @Test func originsAtOtherServersAreReadAsWritten() throws {
        for reach in [nil, Reach.loopback] {
            let origin = PlayOrigin.server(url: "rtmp://media.example/live/a?k=\"", reach: reach)
            #expect(try JSONDecoder().decode(PlayOrigin.self, from: JSONEncoder().encode(origin)) == origin)
        }
        #expect(["rtmp://h/a/b", "RTMPS://h/a/b"].allSatisfy(PlayOrigin.plays))
        let others = ["http://h/a.flv", "rtmpt://h/a/b", "rtmp:/h", "", "://", "rtsp://h/rtmp://a"]
        #expect(others.filter(PlayOrigin.plays) == [])
    }
}
