import Foundation
import Testing

/// The systemd unit in `deploy`, and the files that change it.
struct SystemdUnitTests {
    /// Returns the values of a key, in the order of the file.
    private func values(_ key: String, in file: String) throws -> [String] {
        let text = try String(
            contentsOf: OpenAPIDocument.root.appendingPathComponent("deploy/\(file)"), encoding: .utf8)
        return text.split(separator: "\n").filter { $0.hasPrefix("\(key)=") }.map {
            String($0.dropFirst(key.count + 1))
        }
    }

    /// A node that drains runs what the unit runs, does not keep its relays, and is not killed meanwhile.
    @Test func aNodeThatDrainsHasTheTimeAndTheCommandForIt() throws {
        let unit = try #require(try values("ExecStart", in: "mixorchestrator.service").first)
        let node = try values("ExecStart", in: "mixorchestrator.service.d/cluster.conf")
        #expect(unit.hasSuffix(" --keep-relays"))
        #expect(node == ["", String(unit.dropLast(" --keep-relays".count))])
        #expect(try values("TimeoutStopSec", in: "mixorchestrator.service.d/cluster.conf") == ["315"])
    }
}
