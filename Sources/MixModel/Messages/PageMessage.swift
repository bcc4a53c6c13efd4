import TextFormats

/// A message from the orchestrator to a page worker: one JSON object per line on the worker's Unix socket.
public enum PageCommand: Hashable, Codable, Sendable {
    /// The first line of a connection, which replaces any earlier one. A worker of another version answers `.refused`.
    case hello(version: Int)
    /// Starts a browser with all that it needs for pages like this one, of which nothing else is known yet: `.prepared` follows.
    /// It waits for `.publish`.
    case prepare(PageJob)
    /// Opens a page and publishes it; once in the life of a worker.
    case publish(PageJob)
    /// Unpublishes the stream, ends everything that was started for it, then the process.
    case terminate

    public static let version = 1
    /// Longest line in either direction, in bytes.
    public static let longestLine = 1 << 18
}

/// A message from a page worker to the orchestrator: one JSON object per line.
public enum PageReport: Hashable, Codable, Sendable {
    /// The answer to `.hello`. `.state` follows if the worker has a page already.
    case hello(version: Int, process: Int32)
    /// - Parameter reason: Words for the person who publishes, with the cure, without secrets.
    case refused(reason: String)
    /// The browser waits for a page.
    case prepared
    case state(PageState)
    /// The worker ends by itself: the page has ended it, or it cannot be shown.
    ///
    /// - Parameter reason: Words for the timeline, without secrets.
    case ended(reason: String)
}

/// What a page worker does.
public struct PageState: Hashable, Codable, Sendable {
    public enum Step: String, Hashable, Codable, Sendable {
        /// The browser is being started.
        case starting
        /// The page is being loaded, or has not said yet that it is ready.
        case loading
        case onAir = "on-air"
        /// Something has failed and is tried again.
        case failing
    }

    public var step: Step
    /// The last failure, for people; `nil` if there was none since the page was on air.
    public var reason: String?

    public init(_ step: Step, reason: String? = nil) {
        self.step = step
        self.reason = reason
    }
}

/// A page to publish, and how.
public struct PageJob: Hashable, Codable, Sendable {
    /// URL to open.
    public var address: String
    /// URL to open for the first time, if another one. Secret.
    public var firstAddress: String?
    /// RTMP URL to which the stream is published. Holds a code. Empty for a page of which pictures are written.
    public var target: String
    /// Path of the PNG file in which the page's picture is kept, in place of publishing a stream; `nil` = published.
    public var picture: String?
    public var width: Int
    public var height: Int
    public var frameRate: Int
    public var ready: PageReadiness
    /// Seconds within which a page has to be ready.
    public var readyLimit: Double
    /// Addresses of local networks that requests of the page may go to.
    public var reach: Reach
    /// System user that the browser runs as; `nil` = that of the worker.
    public var user: String?
    /// Whether the browser runs without its sandbox.
    public var isUnconfined: Bool

    public init(
        address: String, firstAddress: String? = nil, target: String, picture: String? = nil, width: Int, height: Int,
        frameRate: Int, ready: PageReadiness = .painted, readyLimit: Double = 30, reach: Reach = Reach(places: []),
        user: String? = nil, isUnconfined: Bool = false
    ) {
        self.address = address
        self.firstAddress = firstAddress
        self.target = target
        self.picture = picture
        self.width = width
        self.height = height
        self.frameRate = frameRate
        self.ready = ready
        self.readyLimit = readyLimit
        self.reach = reach
        self.user = user
        self.isUnconfined = isUnconfined
    }
}

extension PageJob {
    /// Whether a browser that was started for one job can show the page of the other.
    public func hasBrowser(like other: PageJob) -> Bool {
        (width, height, frameRate) == (other.width, other.height, other.frameRate)
            && (picture == nil) == (other.picture == nil) && user == other.user && isUnconfined == other.isUnconfined
    }
}
