import Testing

@testable import RoomService

@Suite(.timeLimit(.minutes(1))) struct RepeatedOfferTests {
    @Test func whatIsNotTakenIsOfferedAgain() async {
        var offers = 0
        await RepeatedOffer.untilTaken {
            offers += 1
            return offers == 3
        }
        #expect(offers == 3)
    }

    @Test func aCancelledTaskOffersOnce() async {
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            var offers = 0
            await RepeatedOffer.untilTaken {
                offers += 1
                return false
            }
            return offers
        }
        task.cancel()
        #expect(await task.value == 1)
    }
}
