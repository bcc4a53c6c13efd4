import ArgumentParser
import Foundation
import ProcessContainment

/// `mixworker trial`: in a contained process, tries the operations that containment must refuse.
struct TrialCommand: AsyncParsableCommand {
    static let name = "trial"
    static let configuration = CommandConfiguration(
        commandName: name,
        abstract: "Attempts operations that are forbidden to mixers, and prints the results.",
        discussion:
            "Runs in the sandbox of a mixer, and writes one JSON object to standard output. `mixworker doctor` runs it.",
        shouldDisplay: false)

    @Option(help: "A file that exists and that the user of this process can read and write.")
    var file: String

    @Option(help: "Port of this machine on which a process listens.")
    var port: UInt16 = 1

    @Option(help: "A file in the directory that MIXWORKER_IMAGES names.")
    var image: String?

    func run() async throws {
        let report = ContainmentTrial.run(
            file: file, port: port, image: image, outcome: WorkerStart.containment ?? Containment.Outcome())
        print(String(decoding: try JSONEncoder().encode(report), as: UTF8.self))
    }
}
