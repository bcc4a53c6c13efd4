import Foundation
import LayoutEngine

/// Measures the cost of a change of a room, for every shipped layout, and whether memory leaks.
enum LayoutBenchmarks {
    /// Aim for one plan for 16 people, at most this many ns.
    private static let mostNanoseconds = 15_000.0
    private static let plans = 1000

    /// Runs the benchmarks.
    ///
    /// - Returns: Whether memory stayed steady. Times depend on the machine and are only printed.
    static func run() throws -> Bool {
        for name in try shippedNames() {
            let template = try template(name)
            for (shape, canvas) in [("9:16", Canvas.portrait), ("16:9", Canvas(width: 1280, height: 720, fps: 20))] {
                let crowd = crowd(for: name)
                let cost = Measurement(of: "plan, \(name) \(shape), 16 people").run(units: plans, called: "plan") {
                    (0..<plans).reduce(0) { sum, _ in
                        sum + LayoutEngine.plan(template, participants: crowd, canvas: canvas).panes.count
                    }
                }
                if cost > mostNanoseconds {
                    print("  above the aim of \(Int(mostNanoseconds)) ns")
                }
            }
        }
        try scenes()
        return try isMemorySteady()
    }

    private static func scenes() throws {
        let template = try template("host-and-strip")
        let crowd = crowd(for: "host-and-strip")
        let old = LayoutEngine.plan(template, participants: crowd.dropLast(), canvas: .portrait)
        let new = LayoutEngine.plan(template, participants: crowd, canvas: .portrait)
        Measurement(of: "Scene.difference, 15 to 16 people").run(units: plans, called: "difference") {
            (0..<plans).reduce(0) { sum, _ in sum + new.difference(from: old).changed.count }
        }
        let transition = SceneTransition(from: old, to: new)
        Measurement(of: "SceneTransition.scene, 15 to 16 people").run(units: plans, called: "picture") {
            (0..<plans).reduce(0) { sum, step in
                sum + transition.scene(at: UnitFraction(Double(step) / Double(plans))).panes.count
            }
        }
        let bytes = try Array(Data(contentsOf: file("pk-battle")))
        Measurement(of: "LayoutTemplate.decode, pk-battle").run(units: 100, called: "file", bytes: bytes.count * 100) {
            (0..<100).reduce(0) { sum, _ in
                sum + ((try? LayoutTemplate.decode(bytes, name: "pk-battle").arrangements.count) ?? 0)
            }
        }
    }

    /// Whether 100,000 plans after the first 10,000 leave the process as large as before. One leaked allocation per
    /// plan would be 3 MB.
    private static func isMemorySteady() throws -> Bool {
        let templates = try shippedNames().map { ($0, try template($0)) }.map { ($1, crowd(for: $0)) }
        func plan(_ count: Int) {
            for index in 0..<count {
                let (template, crowd) = templates[index % templates.count]
                _ = LayoutEngine.plan(template, participants: crowd, canvas: .portrait)
            }
        }
        plan(10_000)
        let before = try residentBytes()
        plan(100_000)
        let grown = try residentBytes() - before
        print("100000 plans: resident memory grew by \(grown) bytes")
        return grown < 512 * 1024
    }

    private static func residentBytes() throws -> Int {
        let pages = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
        return (pages.dropFirst().first.flatMap { Int($0) } ?? 0) * Int(getpagesize())
    }
}

// MARK: - Layouts and participants
extension LayoutBenchmarks {
    private static let directory = URL(filePath: #filePath).appending(path: "../../../layouts").standardizedFileURL

    private static func file(_ name: String) -> URL { directory.appending(path: "\(name).json") }

    static func shippedNames() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory.path)
            .filter { $0.hasSuffix(".json") && !$0.hasSuffix(".schema.json") }.map { String($0.dropLast(5)) }.sorted()
    }

    /// Returns the bytes of every shipped layout.
    static func shippedFiles() throws -> [[UInt8]] {
        try shippedNames().map { Array(try Data(contentsOf: file($0))) }
    }

    private static func template(_ name: String) throws -> LayoutTemplate {
        try LayoutTemplate.decode(Data(contentsOf: file(name)), name: name)
    }

    /// Returns 16 streams of the kinds that the layout expects.
    private static func crowd(for layout: String) -> [LayoutParticipant] {
        (0..<16).map { index in
            let isScreen = layout == "screen-share" && index == 15
            let isSound = layout == "audio-room"
            let user = "user\(isScreen ? 0 : index)"
            let kind: LayoutParticipant.Kind = isScreen ? .screen : isSound ? .audio : .camera
            return LayoutParticipant(
                source: "\(user)/\(kind)", user: user, name: "Person Number \(index)", role: index < 2 ? .host : .guest,
                kind: kind, joinOrder: index, hasVideo: !isSound,
                pictureSize: .init(width: 720, height: 1280))
        }
    }
}
