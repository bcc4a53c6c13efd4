import ArgumentParser
import Foundation
import GStreamerKit
import ProgramMixer
import ProgramRelay

/// `mixworker doctor`: checks that this machine has every GStreamer element that relays and mixers use.
struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract:
            "Checks that the required GStreamer elements are installed and names missing Debian packages; tries the video encoders."
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
    }

    func run() async throws {
        try GStreamerRuntime.start()
        let missing = GStreamerRuntime.missingElements(RequiredElements.all.map(\.name)).map { element in
            let required = RequiredElements.all.first { $0.name == element.name }
            return Finding(
                element: element.name, purpose: required?.purpose ?? "",
                package: required?.package ?? element.package)
        }
        let report = Report(
            healthy: missing.isEmpty, checked: RequiredElements.all.count, missing: missing,
            encoders: await encoders())
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
        }
        if !report.healthy { throw ExitCode.failure }
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
