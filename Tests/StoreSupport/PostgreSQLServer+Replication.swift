import Foundation

/// Pairs of servers, one of which copies the other.
extension PostgreSQLServer {
    /// Makes the server confirm commits only after a standby has them too. Waits until one is connected.
    ///
    /// A standby that was copied before this call does not wait for a standby itself when it is promoted.
    public func confirmWithStandby() throws {
        try sql("ALTER SYSTEM SET synchronous_standby_names = '*'")
        try sql("SELECT pg_reload_conf()")
        for _ in 0..<1200 {
            if try sql("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") == "1" { return }
            Thread.sleep(forTimeInterval: 0.05)
        }
        throw Failure(description: "no standby confirms commits")
    }

    /// Makes a standby the primary. Returns when it accepts writes.
    public func promote() throws { try sql("SELECT pg_promote(true, 60)") }

    /// Returns a URL that names this server and another one; clients use the primary.
    public func url(or other: PostgreSQLServer) -> String {
        "postgresql://\(Self.user):\(Self.password)@127.0.0.1:\(port),127.0.0.1:\(other.port)/\(Self.user)"
    }
}

extension PostgreSQLServer {
    /// Returns the processor time that the server's processes have used so far, ended ones included, in seconds.
    public func processorTime() -> Double {
        guard let pid = process.withLock({ $0 }) else { return 0 }
        let children = (try? String(contentsOfFile: "/proc/\(pid)/task/\(pid)/children", encoding: .utf8)) ?? ""
        // The postmaster's own figures include the children that it has waited for.
        return Self.time(of: "\(pid)", fields: 12...15)
            + children.split(separator: " ").reduce(0) { $0 + Self.time(of: String($1), fields: 12...13) }
    }

    /// Returns the sum of these fields of `/proc/{process}/stat`, counted after the name, in seconds.
    private static func time(of process: String, fields: ClosedRange<Int>) -> Double {
        guard let text = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8),
            let end = text.lastIndex(of: ")")
        else { return 0 }
        let found = text[end...].split(separator: " ")
        guard found.count > fields.upperBound else { return 0 }
        return found[fields].compactMap { Double($0) }.reduce(0, +) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }
}
