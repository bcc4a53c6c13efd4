import Foundation
import LayoutEngine
import TestSupport
import Testing

@testable import MixModel
@testable import TextFormats

/// Documents of tasks with their plans and scenes, and messages to relays.
@Suite struct ProgramDocumentTests {
    private let scene: Scene = {
        let label = Label(
            text: "Böb \"B\"", edge: .top, side: .right, size: 24, backgroundOpacity: UnitFraction(0.3), style: .pill,
            isMuted: true, font: Font(.notoSans, isBold: true))
        let pane = Pane(
            source: "böb/camera", user: "böb", x: 2, y: 4, width: 320, height: 240, z: -1, fit: .contain,
            align: .bottomRight, opacity: UnitFraction(1.0 / 3), border: .init(width: 2, colour: .white), label: label,
            isLive: false, fallback: .image("a/\"b\".png"), card: Card(name: "Böb", user: "böb", style: .gradient),
            matte: RGB(red: 1, green: 0xAB, blue: 255), cardAfter: 3500, dropAfter: 12_000, radius: 12,
            shadow: Shadow(blur: 8, offset: 2), speaking: .init(width: 4, colour: .black),
            surround: Surround(blur: 9, dim: UnitFraction(0.25)), reconnecting: "Zurück in \"Kürze\"")
        return Scene(
            canvas: Canvas(width: 720, height: 1280, fps: 20, background: .white),
            background: .init(
                image: "b.png", gradient: Gradient(from: .white, to: .black, angle: 45), blur: 4, dim: UnitFraction(0.5)
            ),
            panes: [pane, Pane(source: "a/camera", user: "a", x: 0, y: 0, width: 2, height: 2)],
            overlays: [Overlay(id: "o", x: 0, y: 0, width: 2, height: 2, content: .image("o.png", align: .top))],
            sound: SceneSound(levels: [.init(source: "a/camera", gain: 50)], loudest: 3),
            transition: Transition(duration: 300, easing: .easeIn))
    }()

    private var plan: ProgramPlan {
        ProgramPlan(
            revision: 3, task: "t", room: "app/r",
            sources: [
                PlannedSource(
                    id: "a/camera", url: "rtmp://127.0.0.1/a?k=\\", audio: false, tracks: .audio,
                    backup: "rtmp://127.0.0.1/b", muted: true, name: "Ann \"ü\""),
                PlannedSource(id: "b/screen", url: ""),
            ], mode: .mix(host: "a/camera"), scene: scene,
            outputs: [
                PlannedOutput(
                    PushDestination(id: "cdn", url: "rtmp://127.0.0.1/c", retry: OutputRetry(maxAttempts: 3))),
                PlannedOutput(PushDestination(id: "b", url: "rtmp://127.0.0.1/b")),
                PlannedOutput(PlannedHLS(directory: "/srv/hls", settings: HLSSettings())),
                PlannedOutput(
                    PlannedRecording(settings: RecordingSettings(), directory: "/srv/rec", keepFreeBytes: 1 << 40)),
            ],
            sourceReach: .loopback,
            outputReach: Reach(places: [.init(scheme: "rtmp", address: "10.0.*", port: 1935, name: "h")]),
            causedAt: .max, cause: "stream.published böb/camera", causes: ["c1", "c\"2"],
            degradation: Degradation(level: 2, reason: "load"), tracks: .video,
            encoding: EncodingSettings(videoBitrate: 1_000_000), sei: SEISettings(custom: "x"), isOfOne: true,
            idle: IdlePlan(items: [.init(name: "å.mp4", path: "/m/å.mp4")], loops: false),
            quality: QualityLimits(minBitrate: 1), redundancy: .twin)
    }

    @Test func scenesAreTheSame() throws {
        try expectAll(scene)
        try expectAll(scene.panes[0])
        try expectSame(scene.panes[1])
        try expectAll(scene.canvas)
        try expectAll(scene.sound)
        try expectSame(SceneSound())
        try expectAll(scene.transition)
        try expectAll(scene.panes[0].card)
        try expectAll(#require(scene.panes[0].label))
        try expectSame(Scene(canvas: .portrait, panes: []))
        for fallback in [Pane.Fallback.lastFrame, .image("i"), .card, .nothing] { try expectSame(fallback) }
    }

    @Test func plansAreTheSame() throws {
        var plan = plan
        try expectAll(plan)
        for mode in [ProgramPlan.Mode.bypass("böb/camera"), .mix(host: "a/camera"), .slate] {
            plan.mode = mode
            try expectSame(plan)
        }
        try expectSame(
            ProgramPlan(
                revision: 0, task: "t", room: "r", sources: [], mode: .slate,
                scene: Scene(canvas: .portrait, panes: []),
                outputs: [], causedAt: -1, cause: "", causes: []))
        try expectAll(plan.sources[0])
        try expectSame(plan.sources[1])
        try expectAll(plan.outputs.destinations[0])
        try expectSame(plan.outputs.destinations[1])
        try expectAll(#require(plan.outputReach?.places[0]))
        try expectSame(Reach.loopback)
    }

    @Test func commandsAreTheSame() throws {
        let commands: [RelayCommand] = [
            .hello(version: 1), .apply(plan), .drain, .viewFLV(), .viewFLV(keyframeRequests: true),
            .viewFLV(layouts: true), .requestKeyframe, .retryOutput("c\"dn"), .hold(until: .max), .standBy,
            .resume(ProgramPlace(wallZero: 1.7e9, noted: .seconds(3), ahead: .milliseconds(40))),
        ]
        for command in commands {
            try expectSame(command)
            #expect(try !command.document().contains("\n"), "a command is one line")
        }
    }

    /// Relays of earlier releases know `viewFLV` only without values.
    @Test func earlierRelaysReadAViewersFirstLine() throws {
        enum Earlier: Codable, Equatable {
            case viewFLV
            case drain
        }
        let line = try RelayCommand.viewFLV(keyframeRequests: true).document()
        #expect(line == #"{"viewFLV":{"keyframeRequests":true}}"#)
        #expect(try JSONDecoder().decode(Earlier.self, from: Data(line.utf8)) == .viewFLV)
        let earlier = try JSONEncoder().encode(Earlier.viewFLV)
        #expect(try JSONDecoder().decode(RelayCommand.self, from: earlier) == .viewFLV())
    }

    /// A document in which no field is missing, although no state has all of them.
    var taskDocument: TaskDocument {
        var task = TaskDocument(id: "t", room: "app/r", phase: .running)
        task.settings = RoomSettings(host: "alice", outputs: [PushDestination(id: "cdn", url: "rtmp://127.0.0.1/c")])
        (task.settingsVersion, task.revision, task.attachment) = (7, 4, "{\"a\":1}")
        task.firstSettings = RoomSettings(layout: "grid")
        task.sawOpenRoom = true
        (task.madeAt, task.finishedAt) = (1.5e9, 1_700_000_000.25)
        task.plan = plan
        task.host = "alice"
        task.sourceFacts = SourceFacts(absent: ["a/camera"], pictureSizes: ["b/screen": .init(width: 2, height: 4)])
        task.lastError = "gone \u{1}"
        task.refusal = AdmissionRefusal(neededCores: 1.5, availableCores: 0.25, bookedCores: 1, retryAfter: 5)
        task.pending = [
            Cause(receivedAt: 1, summary: "a \"b\"", id: "c"), Cause(receivedAt: -1, summary: "", id: nil),
        ]
        (task.quietUntil, task.connectedAt) = (.max, .min)
        (task.replanDeadline, task.idleDeadline, task.relaunchDeadline) = (1, 2, 3)
        (task.deadlines, task.failedLaunches) = (3, 2)
        task.relayCauses = ["c1", "c2"]
        task.place = ProgramPlace(wallZero: 1_700_000_000.5, noted: .seconds(9), ahead: .milliseconds(50))
        return task
    }

    @Test func tasksAreTheSame() throws {
        var task = taskDocument
        try expectAll(task)
        try expectAll(task.pending[0])
        let phases: [TaskMachine.Phase] = [
            .waiting(after: nil), .waiting(after: .idle), .waiting(after: .noCapacity), .held(until: nil),
            .held(until: "böb"), .starting, .running, .recovering, .ending(.requested), .finished(.roomDeleted),
        ]
        for phase in phases {
            task.phase = phase
            try expectSame(task)
            let machine = TaskMachine(task)
            #expect(machine.phase == phase)
            try expectSame(machine, "\(phase)")
        }
        try expectSame(TaskMachine(id: "auto-demo", room: "demo"))
    }

    @Test func tasksAreTheSameWhateverHappensToThem() throws {
        var random = SeededGenerator(announcedFor: "task documents")
        let seed = random.seed
        for run in 0..<25 {
            var bench = TaskMachineTests.Bench()
            for _ in 0..<Int.random(in: 1...20, using: &random) {
                bench.now += Int64.random(in: 0...400_000_000, using: &random)
                let user = UserID(["u1", "ü2", "u\"3"].randomElement(using: &random) ?? "")
                let actions =
                    switch Int.random(in: 0..<8, using: &random) {
                    case 0..<4: bench.publish(user, video: Bool.random(using: &random))
                    case 4: bench.task.relayLost("killed", now: bench.now, origin: "lost")
                    case 5: bench.connect()
                    default: bench.unpublish(user)
                    }
                try expectSame(bench.task, "seed \(seed), run \(run)")
                for plan in actions.plans { try expectSame(RelayCommand.apply(plan), "seed \(seed), run \(run)") }
            }
        }
    }
}
