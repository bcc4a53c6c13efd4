import Foundation
import LayoutEngine
import Testing
import EncodedMedia

@testable import MediaFormats
@testable import ViewerProbe

/// The small formats that the probe reads and writes.
@Suite struct ProbeFormatTests {
    @Test func commandsAreReadBack() {
        let values: [AMF0] = [
            .string("onStatus"), .number(3), .null, .boolean(true),
            .object([.init(name: "code", value: .string("NetStream.Play.Start"))]),
        ]
        var bytes: [UInt8] = []
        for value in values { value.encode(into: &bytes) }
        #expect(AMF0.decodeAll(bytes) == values)
        #expect(values[4]["code"]?.text == "NetStream.Play.Start")
        // Truncated anywhere: fewer values, no trap.
        for length in bytes.indices { #expect(AMF0.decodeAll(Array(bytes[..<length])).count < values.count) }
    }

    @Test func aPublishersClockMayBeOff() {
        let right = SyntheticPublisher(id: 1).arguments(url: "rtmp://host/live/x")
        #expect(right.count { $0 == "-re" } == 2 && !right.contains("-readrate"))
        let fast = SyntheticPublisher(id: 1, clockRate: 1.002).arguments(url: "rtmp://host/live/x")
        let rates = zip(fast, fast.dropFirst()).filter { $0.0 == "-readrate" }.map { $0.1 }
        #expect(rates == ["1.002", "1.002"] && !fast.contains("-re"))
    }

    @Test func showinfoIsUnderstood() {
        let line =
            "[Parsed_showinfo_0 @ 0x55] [info] n:  12 pts:   621 pts_time:0.621   pos:  4711 fmt:yuv420p "
            + "sar:1/1 s:720x1280 i:P iskey:0 type:P "
        let picture = PictureDecoder.PictureLine(line)
        #expect(picture?.milliseconds == 621)
        #expect(picture?.format == "yuv420p")
        #expect(picture?.width == 720 && picture?.height == 1280)
        #expect(PictureDecoder.PictureLine("[Parsed_showinfo_0 @ 0x55] [info] config in time_base: 1/1000") == nil)
        #expect(PictureDecoder.errorMessage("[h264 @ 0x1] [error] no frame!") != nil)
        #expect(PictureDecoder.errorMessage(line) == nil)
        #expect(PictureDecoder.errorMessage("[NULL @ 0x1] [error] non-existing PPS 0 referenced") == nil)
    }

    @Test func scenesAreReadFromScenesListsAndTasks() throws {
        let pane = #"{"user": "bob", "x": 360, "y": 0, "width": 360, "height": 1280"#
        let whole = ##"{"canvas": {"width": 720, "height": 1280, "fps": 20, "background": "#000000"}, "panes": ["##
        let scene = whole + pane + #", "source": "bob/camera", "z": 1, "fit": "contain"}]}"#
        let one = try SceneDocument.scenes(Data(scene.utf8))
        #expect(one.count == 1 && one[0].panes[0].fit == .contain && one[0].panes[0].x == 360)
        #expect(try SceneDocument.scenes(Data("[\(scene), \(scene)]".utf8)) == one + one)
        #expect(try SceneDocument.scenes(Data(#"{"id": "auto-demo", "scene": \#(scene)}"#.utf8)) == one)
        #expect(one[0].transition == .cut)
        let slow = scene.replacing("]}", with: #"], "transition": {"duration": 300, "easing": "linear"}}"#)
        #expect(try SceneDocument.scenes(Data(slow.utf8))[0].transition == Transition(duration: 300, easing: .linear))
        // A third of the frames is rendered, as in the task.
        let cheaper = #"{"scene": \#(scene), "degradation": {"level": 2, "fps": 6.666, "reason": "busy"}}"#
        #expect(try SceneDocument.scenes(Data(cheaper.utf8)).map(\.canvas.fps) == [6])
        // Without a `fit` in the document, both fits are possible.
        let loose = try SceneDocument.scenes(Data(#"{"scene": {"panes": [\#(pane)}]}}"#.utf8))
        #expect(loose.map(\.panes[0].fit) == [.cover, .contain])
        #expect(loose[0].canvas == .portrait)
        #expect(try SceneDocument.scenes(Data(#"{"scene": null}"#.utf8)).isEmpty)
        #expect(throws: (any Error).self) { try SceneDocument.scenes(Data("{".utf8)) }
    }

    @Test func aTraceKeepsOrderConfigurationAndArrival() throws {
        let fixture = ProbeFixture()
        let bytes = fixture.flv()
        let trace = try ProgramTrace(flv: bytes, arrivals: Array(0..<1000))
        #expect(trace.video.count == 240 && trace.audio.count == 562)
        #expect(trace.video.allSatisfy { $0.configuration == 0 })
        #expect(trace.audio.allSatisfy { $0.configuration == 1 })
        // The two sequence headers are tags too.
        #expect(trace.video.first?.arrival == 2)
        // A recording may end in the middle of a tag.
        #expect(try ProgramTrace(flv: Array(bytes.dropLast(3))).audio.count == 561)
        #expect(throws: ProbeError.self) { try ProgramTrace(flv: [1, 2, 3] + bytes) }
    }

    @Test func tableNamesEveryFailure() throws {
        var fixture = ProbeFixture()
        fixture.connections = 3
        fixture.removePictures(4000...4000)
        let table = try fixture.report().table
        #expect(table.contains("3 connections were made"))
        #expect(table.contains("video gap 100.0 ms"))
        #expect(table.split(separator: "\n").last?.hasPrefix("FAIL") == true)
    }
}
