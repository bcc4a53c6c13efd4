import TextFormats

/// A message from the orchestrator to a page worker: one JSON object per line on the worker's Unix socket.
public enum PageCommand: Hashable, Codable, Sendable {
    /// The first line of a connection, which replaces any earlier one. A worker of another version answers `.refused`.
    case hello(version: Int)
    /// Starts a browser with everything required for pages like this one, before the page itself is known. `.prepared`
    /// follows; the browser then waits for `.publish`.
    case prepare(PageJob)
    /// Opens a page and publishes it; only once in the life of a worker.
    case publish(PageJob)
    /// Unpublishes the stream, ends everything that was started for it, and then the process.
    case terminate

    public static let version = 1
    /// Longest line in either direction, in bytes.
    public static let longestLine = 1 << 18
}

/// A message from a page worker to the orchestrator: one JSON object per line.
public enum PageReport: Hashable, Codable, Sendable {
    /// The answer to `.hello`. `.state` follows if the worker already has a page.
    case hello(version: Int, process: Int32)
    /// - Parameter reason: Explanation for the publisher, with the remedy, without secrets.
    case refused(reason: String)
    /// The browser is waiting for a page.
    case prepared
    case state(PageState)
    /// The worker is ending by itself: the page has ended the publication, or cannot be shown.
    ///
    /// - Parameter reason: Explanation for the timeline, without secrets.
    case ended(reason: String)
}

/// The state of a page worker.
public struct PageState: Hashable, Codable, Sendable {
    public enum Step: String, Hashable, Codable, Sendable {
        /// The browser is being started.
        case starting
        /// The page is being loaded, or has not yet reported that it is ready.
        case loading
        case onAir = "on-air"
        /// An attempt has failed and is repeated.
        case failing
    }

    public var step: Step
    /// Description of the last failure; `nil` if there was none since the page was on air.
    public var reason: String?

    public init(_ step: Step, reason: String? = nil) {
        self.step = step
        self.reason = reason
    }
}

/// A page to be published, with its settings.
public struct PageJob: Hashable, Codable, Sendable {
    /// URL to open.
    public var address: String
    /// URL to open the first time, if it differs. Secret.
    public var firstAddress: String?
    /// RTMP URL to which the stream is published. Contains a code. Empty for a page whose picture is written to a file.
    public var target: String
    /// Path of the PNG file to which the page's picture is written instead of publishing a stream; `nil` = published.
    public var picture: String?
    public var width: Int
    public var height: Int
    public var frameRate: Int
    public var ready: PageReadiness
    /// `nil` = the end that `ready` implies.
    public var end: PageEnding?
    /// Seconds within which a page must be ready.
    public var readyLimit: Double
    /// Addresses in local networks to which the page may send requests.
    public var reach: Reach
    /// The only hosts to which the page may send requests; `nil` = all.
    public var hosts: HostList?
    /// System user that runs the browser; `nil` = the worker's user.
    public var user: String?
    /// Whether the browser runs without its sandbox.
    public var isUnconfined: Bool
    /// Largest number of cores on which the browser runs; `nil` or 0 = all.
    public var processors: Int?
    /// Added to the niceness of the browser, 0 to 19; `nil` = 0.
    public var niceness: Int?

    public init(
        address: String, firstAddress: String? = nil, target: String, picture: String? = nil, width: Int, height: Int,
        frameRate: Int, ready: PageReadiness = .painted, end: PageEnding? = nil, readyLimit: Double = 30,
        reach: Reach = Reach(places: []), hosts: HostList? = nil, user: String? = nil, isUnconfined: Bool = false,
        processors: Int? = nil, niceness: Int? = nil
    ) {
        self.address = address
        self.firstAddress = firstAddress
        self.target = target
        self.picture = picture
        self.width = width
        self.height = height
        self.frameRate = frameRate
        self.ready = ready
        self.end = end
        self.readyLimit = readyLimit
        self.reach = reach
        self.hosts = hosts
        self.user = user
        self.isUnconfined = isUnconfined
        self.processors = processors
        self.niceness = niceness
    }
}

extension PageJob {
    /// The end that applies.
    public var ending: PageEnding { end ?? ready.impliedEnd }

    /// Whether the page's console is read.
    public var hearsConsole: Bool { ready == .console || ending == .console }

    /// Returns whether a browser that was started for one job can show the page of the other.
    public func hasBrowser(like other: PageJob) -> Bool {
        (width, height, frameRate) == (other.width, other.height, other.frameRate)
            && (picture == nil) == (other.picture == nil) && user == other.user && isUnconfined == other.isUnconfined
            && processors == other.processors && niceness == other.niceness
    }
}
