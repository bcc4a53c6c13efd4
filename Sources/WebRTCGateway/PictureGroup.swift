/// The pictures since the last IDR, for new peers. Pure.
///
/// A group that becomes too large is dropped: new peers then wait for the next IDR.
struct PictureGroup: Sendable {
    /// Limits of the kept group.
    static let most = (pictures: 600, bytes: 8 << 20)

    /// The pictures, beginning with an IDR; empty if none has arrived, or the group was too large.
    private(set) var pictures: [WebRTCPicture] = []
    private var bytes = 0

    mutating func append(_ picture: WebRTCPicture) {
        if picture.isIDR { (pictures, bytes) = ([], 0) }
        guard picture.isIDR || !pictures.isEmpty else { return }
        pictures.append(picture)
        bytes += picture.bytes.count
        if pictures.count > Self.most.pictures || bytes > Self.most.bytes { (pictures, bytes) = ([], 0) }
    }
}
