import Foundation
import MixModel
import Testing

@testable import MixOrchestrator
@testable import RoomService

/// Programs in shared processes, with a shell script in the worker's place.
@Suite(.serialized) struct SharedRelaysTests {
    /// Answers as a worker that releases programs does.
    private static let worker = #"""
        case "$*" in *--task*) while true; do sleep 0.1; done;; esac
        while read -r line; do
          number=$(echo "$line" | sed 's/.*"number":\([0-9]*\).*/\1/')
          case "$line" in *terminate*|*abandon*) echo "{\"ended\":{\"number\":$number}}" >&0;; esac
        done
        """#

    private func starter(_ text: String, in directory: String, limit: Int = 2) throws -> RelayStarter {
        let path = directory + "/mixworker"
        try Data("#!/bin/sh\n\(text)\n".utf8).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: path)
        return RelayStarter(worker: path, orphanTimeout: 17, programsPerProcess: limit, logLevel: "info")
    }

    private func start(_ names: [String], _ starter: RelayStarter, _ directory: String) throws
        -> [any RelayProcessHandle]
    {
        try names.map { try starter.start(task: TaskID($0), socket: "\(directory)/relays/\($0).sock") }
    }

    @Test func aProcessTakesSoManyProgramsAndThenAnotherBegins() async throws {
        try await withDirectory { directory in
            let starter = try starter(Self.worker, in: directory)
            let relays = try start(["a", "b", "c"], starter, directory)
            #expect(relays[0].processID == relays[1].processID && relays[2].processID != relays[0].processID)
            #expect(relays.allSatisfy { $0.exitDescription() == nil })
            relays[0].signal(SIGTERM)
            let end = try await eventually { relays[0].exitDescription() }
            #expect(end.contains("process \(relays[0].processID) ended"))
            #expect(relays[1].exitDescription() == nil && relays[2].exitDescription() == nil)
            // Both have room now.
            let next = try start(["d", "e"], starter, directory)
            #expect(Set(next.map(\.processID)) == [relays[0].processID, relays[2].processID])
            for relay in relays + next { relay.signal(SIGTERM) }
            for relay in relays + next { _ = try await eventually { relay.exitDescription() } }
            // A process without programs is released, and ends.
            for relay in relays { _ = try await eventually { kill(relay.processID, 0) == 0 ? nil : true } }
        }
    }

    @Test func sharedProcessesLearnTheirQuantum() async throws {
        try await withDirectory { directory in
            let path = directory + "/mixworker"
            let script =
                "#!/bin/sh\necho \"$*\" > '\(directory)/arguments.new'\n"
                + "mv '\(directory)/arguments.new' '\(directory)/arguments'\n\(Self.worker)\n"
            try Data(script.utf8).write(to: URL(fileURLWithPath: path))
            try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: path)
            let starter = RelayStarter(
                worker: path, orphanTimeout: 17, programsPerProcess: 2, quantum: 8, logLevel: "info")
            let relays = try start(["a"], starter, directory)
            let arguments = try await eventually {
                try? String(contentsOfFile: directory + "/arguments", encoding: .utf8)
            }
            #expect(arguments.contains("--shared") && arguments.contains("--quantum 8"), "\(arguments)")
            for relay in relays { relay.signal(SIGTERM) }
            for relay in relays { _ = try await eventually { relay.exitDescription() } }
        }
    }

    @Test func programsOfAProcessThatDiedAreAloneFromThenOn() async throws {
        try await withDirectory { directory in
            let starter = try starter(Self.worker, in: directory)
            let relays = try start(["a", "b"], starter, directory)
            kill(relays[0].processID, SIGKILL)
            for relay in relays {
                let end = try await eventually { relay.exitDescription() }
                #expect(end.contains("of 2 programs ended with signal 9"), "\(end)")
            }
            let again = try start(["a", "b", "c"], starter, directory)
            #expect(Set(again.map(\.processID)).count == 3)
            #expect(RelayProcessFile.runningProcess(socket: directory + "/relays/a.sock") == again[0].processID)
            for relay in again { relay.signal(SIGKILL) }
            for relay in again { _ = try await eventually { relay.exitDescription() } }
        }
    }

    /// A supervisor that is cancelled does not ask how its relay has ended.
    @Test func endsThatNobodyAsksForAreNotKept() async throws {
        try await withDirectory { directory in
            let starter = try starter(Self.worker, in: directory)
            let shared = try #require(starter.shared)
            var relays = try start(["a", "b"], starter, directory)
            for relay in relays { relay.signal(SIGTERM) }
            try await eventually { shared.unreadEnds == 2 ? true : nil }
            relays = []
            #expect(shared.unreadEnds == 0)
            // Nor if the handle is gone first.
            let next = try start(["a"], starter, directory)[0].processID
            kill(next, SIGKILL)
            try await eventually { kill(next, 0) == 0 && shared.unreadEnds == 0 ? nil : true }
            #expect(shared.unreadEnds == 0)
        }
    }

    @Test func aProcessThatDoesNotLetGoIsKilled() async throws {
        try await withDirectory { directory in
            let starter = try starter("exec sleep 60", in: directory)
            let relays = try start(["a", "b"], starter, directory)
            starter.killLeftover(socket: directory + "/relays/a.sock")
            for relay in relays {
                let end = try await eventually { relay.exitDescription() }
                #expect(end.contains("signal 9"), "\(end)")
            }
        }
    }
}
