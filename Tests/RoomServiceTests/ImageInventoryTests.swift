import Testing

@testable import RoomService

/// The times at which images are checked. Time is a number.
@Suite struct ImageInventoryTests {
    private let second: Int64 = 1_000_000_000

    private static func copy(_ file: String) -> ImageInventory.Copy { ImageInventory.Copy(file: file, bytes: 10) }

    @Test func whatIsWantedIsLookedAtOnceAndThenNowAndThen() {
        var inventory = ImageInventory()
        let excess = inventory.want(["a", "b"])
        #expect(excess.isEmpty)
        #expect(inventory.takeDue(now: 0) == ["a", "b"])
        #expect(inventory.takeDue(now: 0) == [], "they are being looked at")
        #expect(inventory.succeeded("a", Self.copy("1"), now: 0) == true)
        #expect(inventory.files == ["a": "1"])
        #expect(inventory.takeDue(now: 599 * second) == [])
        #expect(inventory.takeDue(now: 600 * second) == ["a"])
        #expect(inventory.succeeded("a", nil, now: 600 * second) == false, "unchanged")
        #expect(inventory.takeDue(now: 1200 * second) == ["a"])
        #expect(inventory.succeeded("a", Self.copy("2"), now: 0) == true)
    }

    @Test func failuresAreTriedAgainLaterAndLaterAndToldOnce() {
        var inventory = ImageInventory()
        _ = inventory.want(["a"])
        var now: Int64 = 0
        var waits: [Int64] = []
        for attempt in 0..<10 {
            #expect(inventory.takeDue(now: now) == ["a"])
            #expect(inventory.failed("a", "does not exist", now: now) == (attempt == 0))
            let begin = now
            while inventory.items["a"].map({ _ in !isDue(inventory, now) }) ?? false { now += second }
            waits.append((now - begin) / second)
        }
        #expect(waits == [2, 4, 8, 16, 32, 64, 128, 256, 300, 300])
        #expect(inventory.failedCount == 1)
        #expect(inventory.takeDue(now: now) == ["a"])
        #expect(inventory.failed("a", "another reason", now: now) == true)
        #expect(inventory.succeeded("a", Self.copy("1"), now: now) == true)
        #expect(inventory.failedCount == 0)
        #expect(inventory.failed("a", "does not exist", now: now) == true, "news again")
        #expect(inventory.files == ["a": "1"], "the last good copy stays")
    }

    @Test func theEndOfAFailureAndNewWishesAreToldToo() {
        var inventory = ImageInventory()
        _ = inventory.want(["a"])
        _ = inventory.succeeded("a", Self.copy("1"), now: 0)
        #expect(inventory.failed("a", "does not exist", now: 0) == true)
        #expect(inventory.succeeded("a", nil, now: 0) == true, "the copy can be shown again")
        #expect(inventory.failed("a", "does not exist", now: 0) == true)
        _ = inventory.want([])
        _ = inventory.want(["a"])
        #expect(inventory.failed("a", "does not exist", now: 0) == true, "another room wants it")
        #expect(inventory.failed("a", "does not exist", now: 0) == false)
    }

    private func isDue(_ inventory: ImageInventory, _ now: Int64) -> Bool {
        var copy = inventory
        return !copy.takeDue(now: now).isEmpty
    }

    @Test func whatChangesWhileItIsLookedAtIsLookedAtAgain() {
        var inventory = ImageInventory()
        _ = inventory.want(["a"])
        _ = inventory.takeDue(now: 0)
        inventory.outdate("a")
        #expect(inventory.takeDue(now: 0) == [])
        _ = inventory.succeeded("a", Self.copy("1"), now: 0)
        #expect(inventory.takeDue(now: 1) == ["a"])
        _ = inventory.succeeded("a", Self.copy("2"), now: 1)
        #expect(inventory.takeDue(now: 2) == [])
        inventory.outdate("a")
        #expect(inventory.takeDue(now: 2) == ["a"])
    }

    @Test func onlySoManyAtOnceAndInAll() {
        var inventory = ImageInventory()
        let many = Set((0..<300).map { String(1000 + $0) })
        let excess = inventory.want(many)
        #expect(excess == (256..<300).map { String(1000 + $0) })
        let taken = inventory.takeDue(now: 0)
        #expect(taken.count == ImageInventory.mostAtOnce)
        #expect(inventory.takeDue(now: 0) == [])
        _ = inventory.failed("1000", "no", now: 0)
        #expect(inventory.takeDue(now: 0) == ["1004"])
    }

    @Test func theLongestUnusedGoesFirstAndNothingInUse() {
        var inventory = ImageInventory()
        _ = inventory.want(["a"])
        _ = inventory.takeDue(now: 0)
        _ = inventory.succeeded("a", Self.copy("old"), now: 0)
        let files = [("old", 10, 1), ("older", 10, 0), ("new", 10, 5), ("middle", 10, 3)]
            .map { (name: $0.0, bytes: $0.1, lastUse: Int64($0.2)) }
        #expect(inventory.evictions(files, limit: 40).isEmpty)
        #expect(inventory.evictions(files, limit: 39) == ["older"])
        #expect(inventory.evictions(files, limit: 15) == ["older", "middle", "new"])
        #expect(inventory.evictions(files, limit: 0) == ["older", "middle", "new"])
        inventory.forget(file: "old")
        #expect(inventory.files.isEmpty)
    }

    @Test func whatNobodyWantsIsForgottenUnlessThereIsACopy() {
        var inventory = ImageInventory()
        inventory.remember("old", Self.copy("1"))
        _ = inventory.want(["a", "b"])
        _ = inventory.takeDue(now: 0)
        _ = inventory.succeeded("a", Self.copy("2"), now: 0)
        _ = inventory.failed("b", "no", now: 0)
        _ = inventory.want([])
        #expect(Set(inventory.items.keys) == ["old", "a"])
        #expect(inventory.filesInUse.isEmpty)
        _ = inventory.want(["a"])
        #expect(inventory.filesInUse == ["2"])
    }
}
