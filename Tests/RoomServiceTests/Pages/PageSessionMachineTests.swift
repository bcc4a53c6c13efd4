import Foundation
import MixModel
import Testing
import TextFormats

@testable import EventSubscription
@testable import RoomService

/// The service's decisions about a page, without processes.
struct PageSessionMachineTests {
    private static let second: Int64 = 1_000_000_000
    private static let job = PageJob(
        address: "https://a.example/", firstAddress: "https://a.example/?token=t", target: "rtmp://127.0.0.1/publish/k",
        width: 1280, height: 720, frameRate: 30)

    private static func onAir() -> PageSessionMachine {
        var machine = PageSessionMachine(job)
        #expect(machine.take(.attached, now: 0) == [.send(.hello(version: 1))])
        #expect(machine.take(.report(.hello(version: 1, process: 7)), now: 0) == [.send(.publish(job))])
        #expect(
            machine.take(.report(.state(PageState(.onAir))), now: 0) == [.state(PageState(.onAir)), .forgetToken])
        return machine
    }

    @Test func aTokenIsForgottenOnAir() {
        var machine = Self.onAir()
        #expect(machine.job.firstAddress == nil)
        #expect(machine.take(.report(.state(PageState(.onAir))), now: 1) == [.state(PageState(.onAir))])
    }

    @Test func aWorkerThatIsLostIsReplacedMoreAndMoreSeldom() {
        var machine = Self.onAir()
        var pauses: [Duration] = []
        for _ in 0..<8 {
            for action in machine.take(.lost(reason: "killed"), now: 0) {
                if case .restart(let pause) = action { pauses.append(pause) }
            }
        }
        #expect(
            pauses == [.zero, .seconds(1), .seconds(2), .seconds(5), .seconds(10)]
                + [Duration](repeating: .seconds(30), count: 3))
        #expect(machine.state == PageState(.failing, reason: "killed"))
        _ = machine.take(.report(.state(PageState(.onAir))), now: 0)
        let later = machine.take(.lost(reason: "killed"), now: 31 * Self.second)
        #expect(later.last == .restart(after: .zero), "after some time on air")
    }

    /// A worker whose display ends may still be able to say so.
    @Test func failuresAreForgottenEvenIfTheWorkerAnnouncesThem() {
        var machine = Self.onAir()
        for round in 1...10 {
            let now = Int64(round) * 60 * Self.second
            _ = machine.take(.report(.state(PageState(.failing, reason: "the display ended"))), now: now)
            #expect(machine.take(.lost(reason: "it ended"), now: now + 1).last == .restart(after: .zero), "\(round)")
            _ = machine.take(.report(.state(PageState(.onAir))), now: now + 2)
        }
    }

    @Test func aPageThatEndsIsNotOpenedAgain() {
        var machine = Self.onAir()
        #expect(
            machine.take(.report(.ended(reason: "the page has ended it")), now: 1) == [
                .end(reason: "the page has ended it")
            ])
        #expect(machine.isEnded && !machine.isOver)
        #expect(machine.take(.lost(reason: "gone"), now: 2) == [] && machine.isOver)
    }

    @Test func aClosedPageIsTerminated() {
        var machine = Self.onAir()
        #expect(machine.take(.close, now: 1) == [.send(.terminate)] && machine.take(.close, now: 1) == [])
        #expect(machine.take(.attached, now: 1) == [.send(.hello(version: 1)), .send(.terminate)])
        #expect(machine.take(.report(.state(PageState(.onAir))), now: 1) == [])
    }

    @Test func wordsOfAWorkerAreNotBelieved() {
        var machine = Self.onAir()
        let reason = String(repeating: "x\n", count: 5000) + "rtmp://u:secret@host/a"
        _ = machine.take(.report(.state(PageState(.failing, reason: reason))), now: 0)
        #expect(machine.state.reason.map { $0.utf8.count <= 403 && !$0.contains("\n") } ?? false)
        #expect(machine.take(.report(.hello(version: 9, process: 1)), now: 0) == [.send(.terminate)])
    }

    // MARK: - Rules

    private static func obstacle(
        _ rules: PageRules = PageRules(), missing: [String] = [], isRoot: Bool = false, free: Int? = nil
    ) -> String? {
        rules.obstacle(missing: missing, cure: "deploy/setup.sh --pages", isRoot: isRoot, freeMemory: free).map {
            "\($0.code) \($0.detail) \($0.expected ?? "")"
        }
    }

    @Test func whatPreventsPagesIsSaidWithItsCure() {
        #expect(Self.obstacle(free: 4000) == nil)
        #expect(Self.obstacle(missing: ["Xvfb"])?.contains("Xvfb not installed deploy/setup.sh --pages") ?? false)
        #expect(Self.obstacle(isRoot: true)?.contains("pages.user") ?? false)
        var rules = PageRules()
        rules.user = "nobody"
        #expect(Self.obstacle(rules, isRoot: true) == nil)
        rules.user = nil
        rules.allowsNoSandbox = true
        #expect(Self.obstacle(rules, isRoot: true) == nil)
        #expect(Self.obstacle(free: 511)?.hasPrefix("pages-full 511 MiB") ?? false)
    }

    /// `mixorchestrator doctor` names what pages lack, and how to get it.
    @Test func theDoctorNamesWhatPagesLack() {
        let rules = PageRules()
        let good = rules.finding(missing: [], isRoot: false, freeMemory: 4000)
        #expect(good == Finding(isGood: true, text: "web pages can be shown"))
        for (finding, words) in [
            (
                rules.finding(missing: ["Xvfb", "pulseaudio"], isRoot: false, freeMemory: 4000),
                ["Xvfb, pulseaudio not installed", "deploy/setup.sh --pages"]
            ),
            (rules.finding(missing: [], isRoot: true, freeMemory: 4000), ["runs as root", "pages.user"]),
            (rules.finding(missing: [], isRoot: false, freeMemory: 100), ["100 MiB are free, and 512 are needed"]),
        ] {
            #expect(finding.verdict == .note && finding.text.hasPrefix("pages: "), "\(finding.text)")
            #expect(words.allSatisfy { finding.text.contains($0) }, "\(finding.text)")
        }
    }

    /// Pages of one list are opened together: each must leave room for those before it.
    @Test func pagesThatAreBeingOpenedNeedTheirCoresToo() {
        let load = MachineLoad(settings: LoadSettings(cores: 2, utilisation: 0.8))
        #expect(load.hasRoom(cores: 9), "an idle machine takes the first")
        #expect(load.hasRoom(cores: 0.5, besides: 1) && !load.hasRoom(cores: 0.5, besides: 1.5))
        load.reserve(cores: 1)
        #expect(load.hasRoom(cores: 0.5) && !load.hasRoom(cores: 0.5, besides: 0.5))
    }

    /// The browser of one page never gets every core, unless an operator wants it.
    @Test func aCoreIsLeftToPrograms() {
        let cores = ProcessInfo.processInfo.activeProcessorCount
        #expect(1...2 ~= PageRules().cpu && (PageRules().cpu < cores || cores == 1) && PageRules().niceness == 0)
    }

    /// A page reaches its own server and listed places, but never all of loopback.
    @Test func aPageReachesWhatIsListed() throws {
        let own = try StreamURL("http://127.0.0.1:8000/x")
        let open = PageRules.reach(of: own, allowed: .loopbackOnly)
        #expect(open.places == [Reach.Place(scheme: "http", address: "127.0.0.1", port: 8000)])
        let away = PageRules.reach(of: try StreamURL("https://a.example/"), allowed: .loopbackOnly)
        #expect(away.places.isEmpty)
        let list = try AllowList(["https://a.example", "http://10.0.0.7:80"])
        let listed = PageRules.reach(of: try StreamURL("https://a.example/"), allowed: list)
        #expect(listed.places == [Reach.Place(scheme: "http", address: "10.0.0.7", port: 80)])
    }

    @Test func requestsGoToListedHostsOnlyIfTheOperatorWantsThat() throws {
        let own = try StreamURL("http://127.0.0.1:8000/x")
        let list = try AllowList(["https://a.example", "http://10.0.0.7:80", "rtmp://b.example"])
        #expect(PageRules().hosts(of: own, allowed: list) == nil)
        var rules = PageRules()
        rules.restrictsRequests = true
        let listed = rules.hosts(of: try StreamURL("https://a.example/"), allowed: list)
        #expect(
            listed?.entries == [
                HostList.Entry(scheme: "https", host: "a.example"),
                HostList.Entry(scheme: "http", host: "10.0.0.7", port: 80),
            ])
        // With an empty list, a page has its own server.
        #expect(
            rules.hosts(of: own, allowed: .loopbackOnly)?.entries == [
                HostList.Entry(scheme: "http", host: "127.0.0.1", port: 8000)
            ])
    }
}
