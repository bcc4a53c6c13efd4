import Foundation
import Hummingbird
import LayoutEngine
import MixModel
import Synchronization
import Testing

@testable import MixOrchestrator
@testable import RoomService

/// The way from a layout that names images to the paths that a mixer reads.
@Suite(.timeLimit(.minutes(2))) struct ImageStoreTests {
    private static func layout(image: String) -> String {
        #"{"canvas":{"image":"\#(image)"},"arrangements":[{"algorithm":"grid"}]}"#
    }

    /// Puts two participants on air in a room whose layout names an image; with `later`, the layout names it only once
    /// they are on air.
    private func mix(_ bench: Bench, image: String, later: Bool = false) async throws {
        let plain = #"{"arrangements":[{"algorithm":"grid"}]}"#
        let made = try await bench.call(.put, "/v1/layouts/mine", later ? plain : Self.layout(image: image))
        #expect(made.status == 201, "\(made.text)")
        #expect(try await bench.call(.put, "/v1/rooms/demo", #"{"layout":"mine"}"#).status == 201)
        try await bench.publish("alice")
        try await bench.publish("bob")
        try await bench.plan { $0.mode == .mix(host: "alice/camera") }
        if later {
            #expect(try await bench.call(.put, "/v1/layouts/mine", Self.layout(image: image)).status == 200)
        }
    }

    private func background(_ plan: ProgramPlan) -> [UInt8]? {
        plan.scene.background.flatMap { FileManager.default.contents(atPath: $0.image) }.map(Array.init)
    }

    @Test func anImageBesideTheLayoutsIsThereAtOnceAndFollowsItsFile() async throws {
        try await withDirectory { directory in
            let images = directory + "/layouts/images"
            try FileManager.default.createDirectory(atPath: images, withIntermediateDirectories: true)
            let file = URL(fileURLWithPath: images + "/back.png")
            try Data(SampleImages.red).write(to: file)
            try await withOrchestrator(directory: directory) { bench in
                try await mix(bench, image: "images/back.png")
                let plan = try #require(bench.relays.started.last?.plan)
                #expect(background(plan) == SampleImages.red)
                let path = try #require(plan.scene.background?.image)
                #expect(path.hasPrefix(directory + "/images/") && path.hasSuffix(".png"))
                let attributes = try FileManager.default.attributesOfItem(atPath: path)
                #expect(attributes[.posixPermissions] as? Int == 0o600)

                try Data(SampleImages.blue).write(to: file, options: .atomic)
                let changed = try await bench.plan { background($0) == SampleImages.blue }
                #expect(changed.cause == "image images/back.png of layout mine is available")
                // An image that cannot be decoded leaves the last good one on air.
                try Data(SampleImages.bomb).write(to: file)
                try await eventually {
                    let answer = try await bench.call(.get, "/v1/layouts/mine")
                    return try answer.value("images.0.error")?.contains("16000×16000") == true ? true : nil
                }
                #expect(try await bench.call(.get, "/v1/layouts/mine").value("images.0.state") == "ready")
                try await eventually {
                    let timeline = try await bench.call(.get, "/v1/tasks/auto-demo/timeline").text
                    return timeline.contains("image images/back.png the image has 16000×16000 pixels") ? true : nil
                }
                #expect(bench.relays.started.last?.plan == changed)
                #expect(try await bench.call(.get, "/metrics").text.contains("images_failed 1\n"))
            }
        }
    }

    @Test(arguments: ["../secret.png", "/etc/passwd", "images/../../x.png", "link.png", "folder", "none.png", ""])
    func pathsDoNotLeadOutOfTheDirectory(_ reference: String) async throws {
        try await withDirectory { directory in
            let layouts = directory + "/layouts"
            try FileManager.default.createDirectory(atPath: layouts + "/folder", withIntermediateDirectories: true)
            try Data(SampleImages.red).write(to: URL(fileURLWithPath: directory + "/secret.png"))
            #expect(symlink(directory + "/secret.png", layouts + "/link.png") == 0)
            try Data(SampleImages.red).write(to: URL(fileURLWithPath: layouts + "/good.png"))
            #expect(symlink("good.png", layouts + "/inside.png") == 0)
            let files = ImageFiles(directory: layouts)
            #expect(throws: FileRefusal.self) { try files.read(reference) }
            #expect(try files.read("inside.png").bytes == SampleImages.red)
        }
    }

    @Test func anImageOfAServerComesWhenItIsThereAndSurvivesARestart() async throws {
        let isThere = LockedFlag()
        try await withImageServer { router in
            router.get("logo.png") { _, _ in
                isThere.value ? imageResponse(SampleImages.red) : Response(status: .notFound)
            }
        } _: { base in
            try await withDirectory { directory in
                let relays = ScriptedRelays()
                defer { relays.tearDown() }
                let keep = ["relay.keep": ["true"]]
                try await withOrchestrator(directory: directory, relays: relays, settings: keep) { bench in
                    try await mix(bench, image: base + "/logo.png?key=S3CRET", later: true)
                    #expect(bench.relays.started.last?.plan?.scene.background == nil, "the room does not wait for it")
                    try await eventually {
                        let timeline = try await bench.call(.get, "/v1/tasks/auto-demo/timeline").text
                        return timeline.contains("logo.png cannot be fetched: the server answered 404") ? true : nil
                    }
                    isThere.value = true
                    try await bench.plan { background($0) == SampleImages.red }
                    #expect(!bench.log.text.contains("S3CRET"))
                    #expect(try await !bench.call(.get, "/v1/tasks/auto-demo/timeline").text.contains("S3CRET"))
                    #expect(
                        try await bench.call(.get, "/v1/layouts/mine").value("images.0.image") == base + "/logo.png")
                }
                isThere.value = false
                let plans = relays.started.last?.plans.count
                try await withOrchestrator(directory: directory, relays: relays, settings: keep) { bench in
                    try await eventually {
                        try await bench.call(.get, "/v1/tasks/auto-demo").value("state") == "running" ? true : nil
                    }
                    #expect(relays.started.last?.plans.count == plans, "nothing changes on air")
                }
            }
        }
    }

    /// Returns the number of timeline entries about the missing image of a task's layout.
    private func complaints(_ bench: Bench, _ room: String) async throws -> Int {
        let timeline = try await bench.call(.get, "/v1/tasks/auto-\(room)/timeline").text
        return timeline.components(separatedBy: "logo.png cannot be fetched: the server answered 404").count - 1
    }

    @Test func everyTaskIsToldOnceWhatItsLayoutLacksWheneverItBegins() async throws {
        let isThere = LockedFlag()
        try await withImageServer { router in
            router.get("logo.png") { _, _ in
                isThere.value ? imageResponse(SampleImages.red) : Response(status: .notFound)
            }
        } _: { base in
            try await withDirectory { directory in
                try await withOrchestrator(directory: directory) { bench in
                    let layout = Self.layout(image: base + "/logo.png")
                    #expect(try await bench.call(.put, "/v1/layouts/mine", layout).status == 201)
                    for room in ["first", "demo", "last"] {
                        #expect(try await bench.call(.put, "/v1/rooms/\(room)", #"{"layout":"mine"}"#).status == 201)
                    }
                    try await bench.publish("alice", room: "first")
                    try await eventually { try await complaints(bench, "first") == 1 ? true : nil }
                    // The room existed at the time of the report, but none of its tasks did.
                    try await bench.publish("alice")
                    try await eventually { try await complaints(bench, "demo") == 1 ? true : nil }
                    try await bench.publish("bob")
                    try await bench.plan { $0.room == "demo" && $0.mode == .mix(host: "alice/camera") }
                    #expect(try await complaints(bench, "first") == 1)
                    #expect(try await complaints(bench, "demo") == 1)

                    isThere.value = true
                    try await bench.plan { background($0) == SampleImages.red }
                    try await bench.publish("alice", room: "last")
                    try await bench.plan { $0.room == "last" }
                    #expect(try await complaints(bench, "last") == 0)
                }
            }
        }
    }
}
