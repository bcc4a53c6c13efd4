import Foundation
import LayoutEngine
import TestSupport
import Testing

@testable import MixModel

/// Documents and states of every kind of output, and the JSON that processes of other releases exchange.
@Suite struct OutputDocumentTests {
    /// A document and a state of each kind. A new kind needs its own sample here.
    static let samples: [String: (planned: PlannedOutput, status: OutputStatus)] = [
        PushDestination.kind: (
            PlannedOutput(
                PushDestination(id: "cdn", url: "rtmp://127.0.0.1/c", retry: OutputRetry(maxAttempts: 3))),
            OutputStatus(
                DestinationStatus(
                    id: "cdn", state: .recovering, connectedSince: 1, reconnects: 2, bytesSent: 3, lastError: "e",
                    lastErrorCode: .wedged, droppedFrames: 4))
        ),
        PlannedHLS.kind: (
            PlannedOutput(
                PlannedHLS(
                    directory: "/srv/hls",
                    settings: HLSSettings(renditions: [HLSRendition(height: 360, videoBitrate: 400_000)]))),
            OutputStatus(
                HLSStatus(
                    service: ServiceState(running: true), session: "17", startedAt: 1.5,
                    variants: [HLSVariantStatus(name: "video", width: 720, height: 1280, bandwidth: 1000)]))
        ),
        PlannedRecording.kind: (
            PlannedOutput(
                PlannedRecording(
                    settings: RecordingSettings(maxSeconds: 60, id: "r", startedAt: 1.5), directory: "/srv/rec",
                    keepFreeBytes: 1 << 40)),
            OutputStatus(
                RecordingStatus(
                    id: "r", source: "a/camera", state: .recovering, file: "r.mp4", files: 1, seconds: 2.5, bytes: 3,
                    error: ServiceState.Failure(code: "disk_full", message: "full"), restarts: 1))
        ),
    ]

    static func plan(_ outputs: [PlannedOutput]) -> ProgramPlan {
        ProgramPlan(
            revision: 3, task: "t", room: "app/r", sources: [], mode: .slate,
            scene: Scene(canvas: .portrait, panes: []), outputs: outputs, causedAt: 1, cause: "c")
    }

    static func status(_ outputs: [OutputStatus]) -> RelayStatus {
        RelayStatus(
            task: "t", processID: 7, revision: 3, onAir: nil, bypassSource: nil, scene: nil, sources: [],
            outputs: outputs, programTime: .seconds(9))
    }

    @Test func kindsHaveNamesAndPlacesOfTheirOwn() {
        let kinds = OutputDocuments.all
        #expect(Set(kinds.map { $0.kind }).count == kinds.count)
        #expect(kinds.allSatisfy { $0.kind.utf8.allSatisfy { 0x61...0x7A ~= $0 } }, "one word of ASCII letters")
        for fields in [kinds.map { $0.planField.name }, kinds.map { $0.statusField.name }] {
            #expect(Set(fields).count == kinds.count)
        }
        #expect(Set(Self.samples.keys) == Set(kinds.map { $0.kind }), "samples of every kind")
        #expect(OutputPlanner.kinds.count == kinds.count, "every kind can be planned for a room")
    }

    @Test(arguments: OutputDocuments.all.map { $0.kind })
    func documentsAndStatesAreReadAsTheyWereWritten(kind: String) throws {
        let (planned, status) = try #require(Self.samples[kind])
        #expect(planned.key.kind == kind && planned == planned && status == status)
        #expect(status.bounded == status)
        let all = OutputDocuments.all.compactMap { Self.samples[$0.kind]?.planned }
        for outputs in [[planned], all] {
            try expectSame(Self.plan(outputs))
            #expect(outputs.contains(planned))
        }
        for others in [[], Self.samples.filter { $0.key != kind }.values.map(\.status)] {
            let whole = Self.status([status] + others)
            for data in [Data(try DocumentEncoder.json(whole).utf8), try JSONEncoder().encode(whole)] {
                let read = try JSONDecoder().decode(RelayStatus.self, from: data)
                #expect(Set(read.outputs) == Set(whole.outputs))
            }
        }
        for other in Self.samples where other.key != kind {
            #expect(planned != other.value.planned && status != other.value.status)
        }
    }

    /// A plan in the format of the release before the list of outputs, in the store and for relays.
    private static let earlierPlan = """
        {"revision":3,"task":"t","room":"app/r","sources":[],"mode":{"slate":{}},"scene":\(scene),
        "outputs":[{"id":"cdn","url":"rtmp://127.0.0.1/c","retry":{"maxAttempts":3}}],"causedAt":1,"cause":"c",
        "hls":{"directory":"/srv/hls","settings":{"segmentSeconds":4,"windowSeconds":30,"enableVOD":false,
        "renditions":[{"height":360,"videoBitrate":400000}]}},
        "recordings":[{"settings":{"singleFilePerLayer":false,"participants":false,"maxSeconds":60,"id":"r",
        "startedAt":1.5},"directory":"/srv/rec","keepFreeBytes":1099511627776}]}
        """

    private static let scene = (try? Scene(canvas: .portrait, panes: []).document()) ?? ""

    /// A status in the format of that release.
    private static let earlierStatus = """
        {"task":"t","processID":7,"revision":3,"sources":[],"programTime":9000000000,
        "outputs":[{"id":"cdn","state":"recovering","connectedSince":1,"reconnects":2,"bytesSent":3,"lastError":"e",
        "lastErrorCode":"wedged","droppedFrames":4}],
        "hls":{"service":{"running":true},"session":"17","startedAt":1.5,
        "variants":[{"name":"video","width":720,"height":1280,"bandwidth":1000}]},
        "recordings":[{"id":"r","source":"a/camera","state":"recovering","file":"r.mp4","files":1,"seconds":2.5,
        "bytes":3,"error":{"code":"disk_full","message":"full"},"restarts":1}]}
        """

    @Test func JSONIsThatOfEarlierReleases() throws {
        let kinds = [PushDestination.kind, PlannedHLS.kind, PlannedRecording.kind].compactMap { Self.samples[$0] }
        func object(_ data: Data) throws -> NSDictionary? {
            try JSONSerialization.jsonObject(with: data) as? NSDictionary
        }
        func expect<Value: Codable & Equatable>(_ text: String, _ value: Value, _ ours: [Data]) throws {
            #expect(try JSONDecoder().decode(Value.self, from: Data(text.utf8)) == value)
            for data in ours { #expect(try object(data) == object(Data(text.utf8))) }
        }
        let plan = Self.plan(kinds.map(\.planned))
        try expect(Self.earlierPlan, plan, [Data(try plan.document().utf8), try JSONEncoder().encode(plan)])
        let status = Self.status(kinds.map(\.status))
        try expect(
            Self.earlierStatus, status,
            [Data(try DocumentEncoder.json(status).utf8), try JSONEncoder().encode(status)])
    }

    /// A program without HLS and recordings has no fields for them, but always has a list of destinations.
    @Test func emptyKindsAreLeftOut() throws {
        let texts = [
            try Self.plan([]).document(), String(decoding: try JSONEncoder().encode(Self.plan([])), as: UTF8.self),
            try DocumentEncoder.json(Self.status([])),
        ]
        for text in texts {
            #expect(text.contains(#""outputs":[]"#) && !text.contains("hls") && !text.contains("recordings"))
        }
        let without = Self.earlierPlan.replacing(
            #""outputs":[{"id":"cdn","url":"rtmp://127.0.0.1/c","retry":{"maxAttempts":3}}],"#, with: "")
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(ProgramPlan.self, from: Data(without.utf8)) }
    }

    /// A process of a later release may know kinds of outputs that this one does not.
    @Test func fieldsOfUnknownKindsAreIgnored() throws {
        let later = Self.earlierPlan.replacing(#""hls""#, with: #""whep":[{"id":"w"}],"hls""#)
        #expect(
            try JSONDecoder().decode(ProgramPlan.self, from: Data(later.utf8))
                == JSONDecoder().decode(ProgramPlan.self, from: Data(Self.earlierPlan.utf8)))
    }

    @Test func hostilePlansAndStatesAreReadOrRefused() throws {
        var random = SeededGenerator(announcedFor: "OutputDocumentTests.hostile")
        for round in 0..<2_000 {
            let text = round % 2 == 0 ? Self.earlierPlan : Self.earlierStatus
            var bytes = Array(text.utf8)
            if Bool.random(using: &random) {
                bytes = Array(HostileBytes.numbers(of: text, using: &random).utf8)
            } else {
                bytes = HostileBytes.any([bytes], using: &random)
            }
            if let plan = try? JSONDecoder().decode(ProgramPlan.self, from: Data(bytes)) {
                #expect((try? plan.document()) != nil && plan == plan && plan.outputs.connections >= 0)
                for kind in OutputDocuments.all { _ = Self.service(of: kind, plan.outputs, []) }
            }
            if let report = try? JSONDecoder().decode(RelayStatus.self, from: Data(bytes)) {
                guard case .status(let status) = RelayReport.status(report).bounded else { continue }
                #expect((try? DocumentEncoder.json(status)) != nil)
                for kind in OutputDocuments.all { _ = Self.service(of: kind, [], status.outputs) }
            }
        }
    }

    private static func service<Kind: OutputDocument>(
        of kind: Kind.Type, _ planned: [PlannedOutput], _ statuses: [OutputStatus]
    ) -> ServiceState { kind.service(of: planned.of(kind), statuses.of(Kind.Status.self)) }

    @Test func placesAreFoundByTheirType() {
        let places = OutputPlaces([HLSPlace(directory: "/srv/hls"), RecordingPlace(directory: "/srv/rec")])
        #expect(places.place(HLSPlace.self)?.directory(of: "app/r") == "/srv/hls/app/r")
        #expect(places.place(RecordingPlace.self)?.directory == "/srv/rec")
        let settings = RecordingSettings(id: "x")
        #expect(places.place(RecordingPlace.self)?.plan(settings, of: "r").node == nil)
        #expect(RecordingPlace(directory: "/srv/rec", node: "b").plan(settings, of: "r").node == "b")
        #expect(OutputPlaces().place(HLSPlace.self) == nil)
        #expect(places == places && places != OutputPlaces() && places != OutputPlaces([HLSPlace(directory: "/a")]))
    }

    @Test func roomsGetTheOutputsThatTheyAskForAndTheServiceHas() {
        var room = Room(id: "app/r")
        room.settings = RoomSettings(outputs: [])
        let template = LayoutLibrary.automatic
        func context(_ places: [any OutputPlace]) -> PlanningContext {
            PlanningContext(
                template: template, defaultOutputs: [PushDestination(id: "main", url: "rtmp://127.0.0.1/m")],
                defaultCanvas: RoomCanvas(.portrait), places: OutputPlaces(places))
        }
        let all: [any OutputPlace] = [HLSPlace(directory: "/h"), RecordingPlace(directory: "/r")]
        #expect(OutputPlanner.outputs(of: room, in: context(all)).isEmpty)
        #expect(!ProgramPlanner.hasDestination(room, in: context(all)))
        #expect(!OutputPlanner.isRequested(by: room.settings))
        room.settings.hls = HLSSettings()
        room.settings.recording = RecordingSettings(id: "x")
        #expect(OutputPlanner.isRequested(by: room.settings))
        #expect(!ProgramPlanner.hasDestination(room, in: context([])), "the service has no place for them")
        let planned = OutputPlanner.outputs(of: room, in: context(all))
        #expect(planned.map(\.key.kind) == ["hls", "recording"] && planned.connections == 0)
        #expect(planned.hls?.directory == "/h/app/r")
        room.settings.outputs = nil
        #expect(OutputPlanner.outputs(of: room, in: context(all)).destinations.map(\.id) == ["main"])
        #expect(OutputPlanner.outputs(of: room, in: context(all)).connections == 1)
    }
}
