import ChildProcesses
import Foundation
import MixModel
import Testing

@testable import PageCapture

/// The cores and the niceness of a page's browser.
struct BrowserShareTests {
    private static func job(_ processors: Int? = nil, niceness: Int? = nil) -> PageJob {
        PageJob(
            address: "a", target: "t", width: 640, height: 360, frameRate: 20, processors: processors,
            niceness: niceness)
    }

    @Test func theKernelsListIsRead() {
        func cores(_ list: String) -> [Int] {
            BrowserShare.cores(inStatus: "Cpus_allowed:\tff\nCpus_allowed_list:\t\(list)\nMems_allowed:\t1\n")
        }
        #expect(cores("0") == [0])
        #expect(cores("0-3,7") == [0, 1, 2, 3, 7])
        #expect(cores("5,8-8") == [5, 8])
        for list in ["", "x", "1-", "-1", "3-1", "1-2-3", "1,x", "0-99999999999999999999", "0-9223372036854775807"] {
            #expect(cores(list).isEmpty, "\(list)")
        }
        let most = BrowserShare.mostCores
        #expect(cores("0-\(most - 1)").count == most)
        #expect(cores("0-\(most)").isEmpty)
        #expect(cores("0-9,20-\(most + 10)").isEmpty, "too many together")
        #expect(BrowserShare.cores(inStatus: "Name:\tx\n").isEmpty)
    }

    @Test func onlyAsManyCoresAreChosenAsThePageMayUse() {
        for _ in 0..<50 {
            let chosen = BrowserShare.choose(for: Self.job(2), among: [1, 3, 5, 7]).cores
            #expect(Set(chosen).count == 2 && Set(chosen).isSubset(of: [1, 3, 5, 7]) && chosen == chosen.sorted())
        }
        for processors in [nil, 0, -1, 4, 9] as [Int?] {
            #expect(BrowserShare.choose(for: Self.job(processors), among: [1, 3, 5, 7]).cores.isEmpty)
        }
        #expect(BrowserShare.choose(for: Self.job(1), among: []).cores.isEmpty, "they are unknown")
    }

    @Test func theCommandAppliesWhatIsLimited() {
        #expect(BrowserShare().command.isEmpty && BrowserShare().isPossible)
        #expect(BrowserShare(cores: [1, 12]).command == ["taskset", "-c", "1,12"])
        #expect(BrowserShare.choose(for: Self.job(niceness: 99), among: []).niceness == 19)
        #expect(BrowserShare.choose(for: Self.job(niceness: -5), among: []).command.isEmpty, "never before others")
        #expect(BrowserShare(niceness: 5).command.prefix(3) == ["nice", "-n", "5"])
    }

    /// A real process, and one that it starts.
    @Test func processesInheritTheShare() throws {
        let core = try #require(BrowserShare.usableCores.last)
        let share = BrowserShare(cores: [core], niceness: 3)
        #expect(share.isPossible)
        let script =
            "nice; sh -c 'nice; grep ^Cpus_allowed_list: /proc/self/status; grep \"^Max nice\" /proc/self/limits'"
        func lines(_ command: [String]) throws -> [String] {
            let launch = ProcessLaunch("/usr/bin/env", command + ["sh", "-c", script])
            let (bytes, exit) = try launch.run(collecting: \.output)
            #expect(exit == .status(0))
            return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map { String($0) }
        }
        let before = try lines([])
        let words = try lines(share.command)
        try #require(before.count == 4 && words.count == 4, "\(before) \(words)")
        let own = try #require(Int(before[0]))
        let expected = min(own + 3, 19)
        #expect(words[0] == "\(expected)" && words[1] == "\(expected)")
        #expect(BrowserShare.cores(inStatus: words[2]) == [core])
        #expect(words[3].split(separator: " ").suffix(2) == ["0", "0"], "it cannot raise its priority again")
    }

    @Test func whatTheSystemRefusesIsNotPossible() {
        // No machine has this core.
        #expect(!BrowserShare(cores: [BrowserShare.mostCores * 16]).isPossible)
    }
}

/// The share of a real Chromium.
@Suite(.serialized, .timeLimit(.minutes(6)), .enabled(if: PagePrograms.missing.isEmpty)) struct BrowserShareOfPageTests
{
    /// Niceness and cores of each thread of a process; empty if it has ended.
    private static func threads(of process: Int32) -> [(niceness: Int, cores: [Int])] {
        let folder = "/proc/\(process)/task"
        return ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).compactMap { thread in
            guard let stat = try? String(contentsOfFile: "\(folder)/\(thread)/stat", encoding: .utf8),
                let status = try? String(contentsOfFile: "\(folder)/\(thread)/status", encoding: .utf8),
                let name = stat.lastIndex(of: ")")
            else { return nil }
            // Behind the name, the fields begin with the third one; niceness is the 19th, proc(5).
            let fields = stat[stat.index(after: name)...].split(separator: " ")
            guard fields.count > 16, let niceness = Int(fields[16]) else { return nil }
            return (niceness, BrowserShare.cores(inStatus: status))
        }
    }

    @Test func everyThreadOfTheBrowserHasIt() async throws {
        let scene = try await PageScene.start(processors: 1, niceness: 4)
        defer { scene.stop() }
        try await scene.waitForAir()
        let found = scene.processes.first { PageScene.command(of: $0).first?.hasSuffix("Xvfb") ?? false }
        let display = try #require(found)
        let others = try #require(Self.threads(of: display).first)
        let browser = try #require(scene.browsers(nil).first)
        let processes = [browser] + PageScene.descendants(of: browser)
        let renderer = try #require(scene.browsers("renderer").first)
        #expect(processes.contains(renderer))
        let threads = processes.flatMap { Self.threads(of: $0) }
        #expect(threads.count > processes.count)
        // Chromium makes some threads nicer still.
        let least = min(others.niceness + 4, 19)
        #expect(threads.allSatisfy { $0.niceness >= least }, "\(threads)")
        let cores = Set(threads.map { $0.cores })
        #expect(cores.count == 1 && cores.first?.count == 1, "\(cores)")
        #expect(others.cores == BrowserShare.usableCores, "the display is not limited")
    }
}
