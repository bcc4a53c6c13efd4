import Foundation
import Testing

/// The short form of scripts/attack.py: requests and stored data that are meant to cost other users resources.
@Suite(.serialized, .timeLimit(.minutes(30))) struct AttackTests {
    @Test func theServiceWithstandsEveryAttack() async throws {
        let directory = try Workspace.makeDirectory()
        defer { try? FileManager.default.removeItem(at: directory) }
        let attacks = try ManagedProcess(
            "attacks", Workspace.root.appendingPathComponent("scripts/attack.sh").path,
            [
                try Workspace.executable("mixorchestrator"), "--rooms", "5000", "--tasks", "200", "--kills", "5",
                "--stores", "10",
            ], in: directory)
        do {
            try await waitUntil("the attacks end\n\(attacks.messages())", within: 1500) { !attacks.isRunning }
        } catch {
            await attacks.stop()
            throw error
        }
        let table = attacks.messages(last: 60)
        print(table)
        #expect(attacks.exitStatus == 0, "\(table)")
        #expect(table.split(separator: "\n").count { $0.hasSuffix("| held |") } == 18, "\(table)")
    }
}
