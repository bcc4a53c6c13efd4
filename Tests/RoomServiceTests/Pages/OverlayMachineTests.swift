import LayoutEngine
import MixModel
import TestSupport
import Testing

@testable import RoomService

struct OverlayMachineTests {
    private static func page(_ number: Int) throws -> OverlayPage {
        let address = try #require(PageAddress("https://a.example/\(number)"))
        return try #require(
            OverlayPage(
                Overlay(
                    id: "o", x: 0, y: 0, width: 100, height: 50,
                    content: .page(address, picture: "/p/\(number)-100x50.png"))))
    }

    @Test func pagesAreOpenWhileTheyAreShownAndForSomeTimeAfterwards() throws {
        var machine = OverlayMachine(most: 2)
        let page = try Self.page(1)
        #expect(machine.want([page], now: 0) == [.open(page)])
        #expect(machine.want([page], now: 1) == [])
        #expect(machine.want([], now: 10) == [])
        #expect(machine.want([], now: 10 + OverlayMachine.linger - 1) == [])
        // The page is shown again in time.
        #expect(machine.want([page], now: 10 + OverlayMachine.linger) == [])
        #expect(machine.want([], now: 100) == [])
        #expect(machine.want([], now: 100 + OverlayMachine.linger) == [.close(page)])
        #expect(machine.openCount == 0)
        #expect(machine.want([page], now: .max) == [.open(page)])
    }

    @Test func theLimitHoldsAndPagesThatNobodyShowsGiveWay() throws {
        var machine = OverlayMachine(most: 2)
        let pages = try (1...3).map(Self.page)
        #expect(machine.want(Set(pages), now: 0) == [.open(pages[0]), .open(pages[1])])
        #expect(machine.reason(pages[2])?.contains("pages.max") == true && machine.openCount == 2)
        #expect(machine.want([pages[1], pages[2]], now: 1) == [.close(pages[0]), .open(pages[2])])
        #expect(machine.openCount == 2 && machine.reason(pages[2]) == nil)
    }

    @Test func whatHasFailedIsOpenedAgainLater() throws {
        var machine = OverlayMachine(most: 2)
        let page = try Self.page(1)
        _ = machine.want([page], now: 0)
        machine.failed(page, "no browser", now: 5)
        #expect(machine.reason(page) == "no browser")
        #expect(machine.want([page], now: 4 + OverlayMachine.pause) == [])
        #expect(machine.want([page], now: 5 + OverlayMachine.pause) == [.open(page)])
        machine.failed(page, "no browser", now: 6 + OverlayMachine.pause)
        // The failure is forgotten with the last program that shows the page.
        #expect(machine.want([], now: 7 + OverlayMachine.pause) == [])
        #expect(machine.reason(page) == nil)
        #expect(machine.want([page], now: 8 + OverlayMachine.pause) == [.open(page)])
    }

    /// After any inputs, at most the allowed number of pages is open, and the actions agree with the counts.
    @Test(arguments: UInt64(1)...20) func anyOrder(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var machine = OverlayMachine(most: 3)
        let pages = try (1...6).map(Self.page)
        var open: Set<OverlayPage> = []
        var now: Int64 = 0
        for _ in 0..<400 {
            now += Int64.random(in: 0...8_000_000_000, using: &random)
            if Int.random(in: 0..<5, using: &random) == 0, let page = open.randomElement(using: &random) {
                machine.failed(page, "seed \(seed)", now: now)
                open.remove(page)
            }
            let wanted = Set(pages.filter { _ in Bool.random(using: &random) })
            for action in machine.want(wanted, now: now) {
                switch action {
                case .open(let page):
                    let isNew = open.insert(page).inserted
                    #expect(isNew, "seed \(seed)")
                case .close(let page):
                    let wasOpen = open.remove(page) != nil
                    #expect(wasOpen, "seed \(seed)")
                }
                #expect(open.count <= 3, "seed \(seed)")
            }
            #expect(machine.openCount == open.count, "seed \(seed)")
            // As many wanted pages as possible are open, except for failed ones.
            let missing = wanted.filter { !open.contains($0) && machine.reason($0)?.hasPrefix("seed") != true }
            #expect(missing.isEmpty || open.count == 3, "seed \(seed)")
        }
    }

    @Test func programsThatShowTheSamePageShareIt() throws {
        let wishes = OverlayWishes()
        let page = try Self.page(1)
        let overlay = Overlay(
            id: "o", x: 0, y: 0, width: 100, height: 50, content: .page(page.address, picture: page.picture))
        let scene = Scene(canvas: .portrait, panes: [], overlays: [overlay])
        wishes.show(scene, by: TaskID("a"))
        wishes.show(scene, by: TaskID("b"))
        #expect(wishes.all == [page] && wishes.pages(of: TaskID("b")) == [page])
        wishes.show(nil, by: TaskID("a"))
        #expect(wishes.all == [page])
        wishes.show(Scene(canvas: .portrait, panes: []), by: TaskID("b"))
        #expect(wishes.all.isEmpty)
    }
}
