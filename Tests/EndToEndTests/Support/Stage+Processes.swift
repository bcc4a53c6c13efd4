import Foundation

@testable import ViewerProbe

/// The processes of the service, and their output.
extension Stage {
    /// All relays of this stage, including those whose service has been killed.
    private var relays: [ProcessTable.Entry] {
        let sockets = directory.appendingPathComponent("data/relays").path
        return ProcessTable.entries().filter { entry in
            entry.arguments.contains("relay") && entry.arguments.contains { $0.hasPrefix(sockets) }
        }
    }

    /// All processes that the service started, and their descendants.
    var workers: [ProcessTable.Entry] {
        let relays = relays
        return relays + relays.flatMap { ProcessTable.descendants(of: $0.identifier) }
    }

    /// The process that starts mixers; `nil` if there is none at the moment.
    var forkServer: Int32? {
        ProcessTable.descendants(of: service.identifier).first { $0.arguments.contains("forkserver") }?.identifier
    }

    /// Returns the relay's process; there is one while the room is on air.
    func relay() throws -> Int32 {
        let relays = relays
        guard relays.count == 1, let relay = relays.first else {
            throw EndToEndError("expected one relay, found \(relays.map(\.arguments))")
        }
        return relay.identifier
    }

    /// Returns the process of the relay's mixer; there is one while a mix is on air.
    func mixer() throws -> Int32 {
        let mixers = ProcessTable.descendants(of: try relay()).filter { $0.arguments.contains("mixer") }
        guard mixers.count == 1, let mixer = mixers.first else {
            throw EndToEndError("expected one mixer, found \(mixers.map(\.identifier))")
        }
        return mixer.identifier
    }

    /// Returns the log of the room's relay and its mixers.
    func relayLog() -> String? {
        let data = directory.appendingPathComponent("data").path
        let files = FileManager.default.enumerator(atPath: data)?.compactMap { $0 as? String } ?? []
        let file = files.first { $0.hasSuffix("auto-\(room).log") }
        return file.flatMap { try? String(contentsOfFile: data + "/" + $0, encoding: .utf8) }
    }

    /// Returns the last lines of that log.
    func relayLog(last lines: Int) -> String {
        (relayLog() ?? "").split(separator: "\n").suffix(lines).joined(separator: "\n")
    }

    /// Prints the causes of a recording beyond the limits, and in any case standstills of the machine during it.
    func tellCauses(of report: ProbeReport, in recording: FLVRecording) async {
        if let begin = recording.arrivals.first, let end = recording.arrivals.last {
            for standstill in MachineWatch.shared.standstills(in: begin...max(begin, end)) { print(standstill) }
        }
        guard !report.isWithinLimits else { return }
        let timeline = (try? await client.timeline(room)) ?? []
        print("--- timeline, newest first\n\(timeline.prefix(40).joined(separator: "\n"))")
        print("--- relay\n\(relayLog(last: 60))")
    }
}
