import ChildProcesses
import Foundation

/// Checks whether `mixworker` exists and has everything it requires.
///
/// The worker checks GStreamer itself, because this program does not link it.
package enum WorkerCheck {
    package static func findings(worker: String) async -> [Finding] {
        guard access(worker, X_OK) == 0 else {
            return [
                Finding(
                    isGood: false,
                    text: "mixworker is not at \(worker): build it, or set MIXORCHESTRATOR_WORKER or `worker:`"
                )
            ]
        }
        let answer: Data = await withCheckedContinuation { continuation in
            // Reading blocks, so it must not run on the cooperative pool.
            DispatchQueue.global().async { continuation.resume(returning: run(worker)) }
        }
        return findings(from: answer, worker: worker)
    }

    private static func run(_ worker: String) -> Data {
        var launch = ProcessLaunch(worker, ["doctor", "--json"])
        launch.errors = .null
        return Data((try? launch.run(collecting: \.output))?.bytes ?? [])
    }

    /// The output of `mixworker doctor --json`.
    private struct Report: Decodable {
        struct Element: Decodable {
            var element: String
            var purpose: String
            var package: String?
        }
        var checked: Int
        var missing: [Element]
        /// A description of rights that mixers have but should not have; `nil` if there are none, or the worker is
        /// older.
        var containment: String?
        /// A description of what is missing for web pages; `nil` if nothing is, or the worker is older.
        var pages: String?
    }

    package static func findings(from answer: Data, worker: String) -> [Finding] {
        guard let report = try? JSONDecoder().decode(Report.self, from: answer) else {
            return [
                Finding(
                    isGood: false, text: "\(worker) doctor --json did not answer: run `\(worker) doctor` to see why")
            ]
        }
        if report.missing.isEmpty {
            let worker = Finding(
                isGood: true, text: "mixworker at \(worker), \(report.checked) GStreamer elements checked")
            return [worker]
                + [report.containment, report.pages].compactMap { $0 }.map { Finding(verdict: .note, text: $0) }
        }
        return report.missing.map { missing in
            let cure = missing.package.map { "apt-get install \($0)" } ?? "no Debian package is known for it"
            return Finding(
                isGood: false, text: "GStreamer element \(missing.element) (\(missing.purpose)) is missing: \(cure)"
            )
        }
    }
}
