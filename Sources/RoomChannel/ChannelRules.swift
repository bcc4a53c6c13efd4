/// The rules of a channel. The configuration provides every room's initial rules; a moderator may change those in
/// `Shown`.
public struct ChannelRules: Hashable, Sendable {
    /// Messages per second of one sender, and the size of a burst. Likes count as one message per request.
    public var userRate: Double
    public var userBurst: Int
    /// Messages per second of all senders of the room together, and the size of a burst; likes do not count.
    public var roomRate: Double
    public var roomBurst: Int
    /// Like notices per second; further likes are counted and announced with the next notice.
    public var likeNotices: Int
    public var mostCharacters: Int
    public var mostBytes: Int
    /// Seconds for which a sender must wait after a comment or gift; 0 = no slow mode.
    public var slowMode: Int
    /// Words that are refused.
    public var words: WordList

    /// The rules that a moderator may see and change.
    public struct Shown: Codable, Hashable, Sendable {
        /// Seconds between two comments of one sender, 0…3600.
        public var slowMode: Int
        /// Number of refused words. The words themselves are for moderators only.
        public var words: Int

        public init(slowMode: Int, words: Int) {
            self.slowMode = slowMode
            self.words = words
        }
    }

    public static let longestSlowMode = 3600
    /// Longest name, in characters and in bytes of UTF-8.
    public static let longestName = (characters: 64, bytes: 256)
    /// Maximum number of likes in one request, and of gifts.
    public static let mostLikes = 100
    public static let mostGifts = 10_000

    public init(
        userRate: Double = 2, userBurst: Int = 5, roomRate: Double = 50, roomBurst: Int = 100, likeNotices: Int = 2,
        mostCharacters: Int = 500, mostBytes: Int = 2000, slowMode: Int = 0, words: WordList = WordList()
    ) {
        self.userRate = userRate
        self.userBurst = userBurst
        self.roomRate = roomRate
        self.roomBurst = roomBurst
        self.likeNotices = likeNotices
        self.mostCharacters = mostCharacters
        self.mostBytes = mostBytes
        self.slowMode = slowMode
        self.words = words
    }

    public var shown: Shown { Shown(slowMode: slowMode, words: words.words.count) }
}
