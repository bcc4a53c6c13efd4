import Foundation
import LayoutEngine
import TestSupport

/// Tests the decoder with broken layouts: it must answer each one soon, and accepted layouts must give sound scenes.
enum LayoutFuzzing {
    /// Runs the test.
    ///
    /// - Parameters:
    ///   - count: Number of mutated templates.
    ///   - first: The first seed; the same seeds give the same templates.
    /// - Returns: Whether all went well.
    static func run(count: UInt64, first: UInt64) throws -> Bool {
        let mutator = TemplateMutator(try LayoutBenchmarks.shippedFiles())
        let clock = ContinuousClock()
        let start = clock.now
        var (accepted, flawed) = (0, 0)
        var slowest: (seed: UInt64, time: Duration) = (first, .zero)
        for seed in first..<first + count {
            let bytes = mutator.template(seed: seed)
            let begin = processorTime()
            let answer = answer(to: bytes)
            let time = processorTime() - begin
            if time > slowest.time { slowest = (seed, time) }
            guard case .success(let template) = answer else {
                if case .failure(let error) = answer, error.issues.isEmpty {
                    print("seed \(seed): refused without an issue")
                    flawed += 1
                }
                continue
            }
            accepted += 1
            for people in [0, 1, 2, 5, 17] {
                let scene = LayoutEngine.plan(template, participants: crowd(people), canvas: .portrait)
                guard !isSound(scene) else { continue }
                print("seed \(seed): unsound scene for \(people) participants")
                flawed += 1
            }
        }
        print(
            """
            \(count) mutated templates from seed \(first) in \(clock.now - start): \(accepted) accepted, \
            \(count - UInt64(accepted)) refused, slowest \(slowest.time) (seed \(slowest.seed)), \(flawed) flaws
            """)
        return flawed == 0 && slowest.time < .milliseconds(100)
    }

    /// Returns the processor time of this thread, so that other load on the machine does not count against the decoder.
    private static func processorTime() -> Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    private static func answer(to bytes: [UInt8]) -> Result<LayoutTemplate, LayoutError> {
        do {
            return .success(try LayoutTemplate.decode(bytes, name: "fuzz"))
        } catch {
            return .failure(error)
        }
    }

    private static func crowd(_ count: Int) -> [LayoutParticipant] {
        (0..<count).map { index in
            LayoutParticipant(
                source: "u\(index)/\(index == 4 ? "screen" : "camera")", user: "u\(index)",
                role: index == 0 ? .host : .guest, kind: index == 4 ? .screen : .camera, joinOrder: index,
                hasVideo: index != 3, pictureSize: .init(width: index % 2 == 0 ? 9 : 16, height: 12))
        }
    }

    private static func isSound(_ scene: Scene) -> Bool {
        guard scene.panes.count <= LayoutLimits.mostPanes, scene.overlays.count <= LayoutLimits.mostOverlays else {
            return false
        }
        func isInside(_ x: Int, _ y: Int, _ width: Int, _ height: Int) -> Bool {
            [x, y, width, height].allSatisfy { $0 >= 0 && $0 % 2 == 0 } && width >= 2 && height >= 2
                && x + width <= scene.canvas.width && y + height <= scene.canvas.height
        }
        guard scene.panes.allSatisfy({ isInside($0.x, $0.y, $0.width, $0.height) }),
            scene.overlays.allSatisfy({ isInside($0.x, $0.y, $0.width, $0.height) })
        else { return false }
        for (index, pane) in scene.panes.enumerated() {
            for other in scene.panes[..<index] {
                let overlaps =
                    pane.x < other.x + other.width && other.x < pane.x + pane.width && pane.y < other.y + other.height
                    && other.y < pane.y + pane.height
                if pane.source == other.source || pane.z < other.z || pane.z == other.z && overlaps { return false }
            }
        }
        return true
    }
}
