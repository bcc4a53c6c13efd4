import EventSubscription
import ObjectStorage

/// A storage that files are uploaded to.
package struct UploadTarget: Sendable {
    /// The targets that there can be, as notes, metrics and the API name them.
    package enum Name: String, CaseIterable, Sendable { case main, backup }

    package var name: Name
    package var place: StoragePlace
    package var keys: StorageKeys

    package init(name: Name, place: StoragePlace, keys: StorageKeys) {
        self.name = name
        self.place = place
        self.keys = keys
    }
}

/// The settings of uploads.
package struct UploadSettings: Sendable {
    package var targets: [UploadTarget]
    /// Size of parts in bytes.
    package var partBytes = PartPlan.standard
    /// Most uploads at once to each target.
    package var concurrency = 2
    /// Bytes that all uploads together may send per second; `nil` = no limit.
    package var bytesPerSecond: Int?
    /// Most files of each target that wait in memory. Others are found later.
    package var mostWaiting = 1000
    /// Whether files stay here after their objects are verified at all targets.
    package var keepsFiles = true
    /// Whether a right size is enough where a storage tells nothing else.
    package var trustsSize = false
    /// Validity of links in seconds, 1…604,800.
    package var linkSeconds = 3600
    /// Time between two looks for finished files.
    package var interval: Duration = .seconds(10)
    /// Delay after the second failure of a file, doubled after each further one up to 60 times as much.
    package var shortestDelay: Duration = .seconds(5)
    /// Time after which a file that only fails is given up, until the next start.
    package var giveUpAfter: Duration = .seconds(72 * 3600)

    package init(targets: [UploadTarget]) { self.targets = targets }

    /// Delays between attempts, as those of webhooks.
    var policy: DeliveryPolicy {
        var policy = DeliveryPolicy(
            shortestDelay: shortestDelay, longestDelay: shortestDelay * 60, giveUpAfter: giveUpAfter,
            shortestBreak: shortestDelay, longestBreak: shortestDelay * 60)
        policy.concurrency = concurrency
        return policy
    }
}
