import ArgumentParser
import ChildProcesses
import Dispatch
import Foundation
import GStreamerKit
import PageCapture
import ProcessContainment
import ProgramMixer
import ProgramRelay
import WebRTCGateway

/// `mixworker doctor`: checks that this machine has every GStreamer element that relays, mixers and WebRTC use.
struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract:
            "Checks the required GStreamer elements, reports missing Debian packages, and tests the video encoders."
    )

    @Flag(help: "Print one JSON object to standard output.")
    var json = false

    private struct Finding: Encodable {
        var element: String
        var purpose: String
        var package: String?
    }

    private struct EncoderFinding: Encodable {
        /// Name for `mixer.encoder`.
        var name: String
        var title: String
        var works: Bool
        var reason: String?
    }

    private struct Report: Encodable {
        var healthy: Bool
        var checked: Int
        var missing: [Finding]
        var encoders: [EncoderFinding]
        /// Fault of the containment of mixers; `nil` if there is none.
        var containment: String?
        /// Scripts of names that no installed font covers.
        var scriptsWithoutFont: [String]
        /// Missing programs for web pages, with the cure; `nil` if there are none. Only pages need them.
        var pages: String?
    }

    func run() async throws {
        try GStreamerRuntime.start()
        let all = RequiredElements.all + Self.ofWebRTC
        let missing = GStreamerRuntime.missingElements(all.map(\.name)).map { element in
            let required = all.first { $0.name == element.name }
            return Finding(
                element: element.name, purpose: required?.purpose ?? "",
                package: required?.package ?? element.package)
        }
        let report = Report(
            healthy: missing.isEmpty, checked: all.count, missing: missing,
            encoders: await encoders(), containment: await containment(),
            scriptsWithoutFont: FontCoverage.installed.missingScripts, pages: Self.missingForPages)
        if json {
            print(String(decoding: try JSONEncoder().encode(report), as: UTF8.self))
        } else if report.healthy {
            print("all \(report.checked) GStreamer elements are installed")
        } else {
            for finding in missing {
                let cure = finding.package.map { "apt-get install \($0)" } ?? "no Debian package is known for it"
                print("missing element \(finding.element) (\(finding.purpose)): \(cure)")
            }
        }
        if !json {
            for encoder in report.encoders {
                print("encoder \(encoder.name), \(encoder.title): \(encoder.reason ?? "works")")
            }
            if !report.scriptsWithoutFont.isEmpty {
                print(
                    "names in \(report.scriptsWithoutFont.joined(separator: ", ")) are shown as boxes: "
                        + "run deploy/setup.sh --fonts")
            }
            print(report.containment ?? "mixers are contained: no files, no network, no programs")
            print(report.pages ?? "web pages can be shown")
        }
        if !report.healthy { throw ExitCode.failure }
    }

    /// The elements of WebRTC that relays and mixers do not need, without repetition.
    private static var ofWebRTC: [RequiredElements.Required] {
        var required: [RequiredElements.Required] = []
        let uses = [
            (WhipPublication.elements, "receiving WebRTC publishers"),
            (WhepPlayback.elements, "sending over WebRTC"),
        ]
        for (elements, purpose) in uses {
            for element in elements
            where !(RequiredElements.all + required).contains(where: { $0.name == element.name }) {
                required.append(.init(name: element.name, purpose: purpose, package: element.package))
            }
        }
        return required
    }

    private static var missingForPages: String? {
        let names =
            PagePrograms.missing.map(\.name)
            + GStreamerRuntime.missingElements(PagePublication.elements.map(\.name)).map { "element \($0.name)" }
        guard !names.isEmpty else { return nil }
        return
            "web pages cannot be shown: \(names.joined(separator: ", ")) not installed. \(PagePrograms.cure) installs it"
    }

    /// Tries the containment in a process that is contained like a mixer.
    private func containment() async -> String? {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(returning: Self.trial()) }
        }
    }

    /// Returns the fault of the containment; `nil` if there is none. Blocks.
    private static func trial() -> String? {
        let file = FileManager.default.temporaryDirectory.appending(path: "mixworker-\(UUID())").path
        guard FileManager.default.createFile(atPath: file, contents: Data()) else {
            return "containment is unknown: \(file) cannot be written"
        }
        defer { try? FileManager.default.removeItem(atPath: file) }
        var launch = ProcessLaunch("/proc/self/exe", [TrialCommand.name, "--file", file])
        launch.errors = .null
        guard let answer = try? launch.run(collecting: \.output),
            let trial = try? JSONDecoder().decode(ContainmentTrial.self, from: Data(answer.bytes))
        else { return "containment is unknown: the trial did not answer" }
        guard !trial.breaches.isEmpty || !trial.losses.isEmpty || !trial.outcome.missing.isEmpty else { return nil }
        let can = trial.breaches.isEmpty ? "" : "; it can \(trial.breaches.joined(separator: ", "))"
        let cannot = trial.losses.isEmpty ? "" : "; it cannot \(trial.losses.joined(separator: ", "))"
        return "a mixer \(trial.outcome.warning ?? "is contained")\(can)\(cannot)"
    }

    /// Tries every kind of encoder.
    private func encoders() async -> [EncoderFinding] {
        var findings: [EncoderFinding] = []
        for kind in VideoEncoderKinds.all {
            let reason: String? =
                switch await VideoEncoderProbe.finding(of: kind) {
                case .works: nil
                case .missing(let element): "element \(element) is not installed, or finds no device"
                case .fails(let reason): reason
                }
            findings.append(EncoderFinding(name: kind.name, title: kind.title, works: reason == nil, reason: reason))
        }
        return findings
    }
}
