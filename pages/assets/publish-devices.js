// Lists and opens cameras, microphones and screens.

/** The interval at which the microphone's level is measured, in ms. */
const LOOK = 100;

/** Whether a device may become available soon: another program uses it, or it is slow to start. @param {Error} error */
export const mayPass = error => ["AbortError", "NotReadableError"].includes(error.name);

const stop = stream => stream?.getTracks().forEach(track => track.stop());

export class Devices {
  /** The stream to send. @type {MediaStream | null} */
  stream = null;
  #context = null;
  #openings = 0;
  #hasAsked = false;

  /**
   * @param {{camera: HTMLSelectElement, microphone: HTMLSelectElement}} lists @param {(level: number) => void} onLevel 0…1
   * @param {MediaDevices} [media] The browser's.
   */
  constructor(lists, onLevel, media = navigator.mediaDevices) { Object.assign(this, { lists, onLevel, media }); }

  /** Fills the lists and keeps the selection. A device that is gone is not replaced by another one. */
  async list() {
    const devices = await this.media.enumerateDevices(), tracks = this.stream?.getTracks() ?? [];
    const fill = (select, kind, word, extra) => {
      const track = tracks.find(track => track.kind === (kind === "videoinput" ? "video" : "audio"));
      // Before permission is given, devices have no names, and the browser chooses or asks the user.
      const chosen = select.value || track?.getSettings?.().deviceId || "";
      const options = devices.filter(device => device.kind === kind)
        .map((device, index) => new Option(device.label || `${word} ${index + 1}`, device.deviceId));
      select.replaceChildren(...options, ...extra.map(([name, value]) => new Option(name, value)));
      if (chosen) select.value = [...select.options].some(option => option.value === chosen) ? chosen : "none";
      else if (options.length) select.selectedIndex = -1;
    };
    fill(this.lists.camera, "videoinput", "Camera", [["None", "none"], ...this.media.getDisplayMedia ? [["Screen", "screen"]] : []]);
    fill(this.lists.microphone, "audioinput", "Microphone", [["None", "none"]]);
  }

  get isScreen() { return this.lists.camera.value === "screen"; }

  /**
   * Opens the selected devices and closes the previous ones.
   * @param {{width: number, height: number}} size @param {Record<string, boolean>} isOff The kinds of track that stay off.
   * @returns {Promise<boolean>} Whether the devices are in use now; `false` if the selection has changed in the meantime.
   */
  async open(size, isOff) {
    const own = this.#openings += 1, wanted = new MediaStream();
    try {
      await this.list();
      await this.#take(wanted, size);
    } catch (error) {
      // Stops a screen capture that is not used, and tracks that the page shows as off.
      stop(wanted);
      if (own === this.#openings && !this.#isAny) this.stream?.getTracks().forEach(track => this.#drop(track));
      throw error;
    }
    if (own !== this.#openings) {
      stop(wanted);
      return false;
    }
    for (const track of wanted.getTracks()) {
      track.enabled = !isOff[track.kind];
      if (track.kind === "video") track.contentHint = this.isScreen ? "detail" : "motion";
    }
    stop(this.stream);
    this.stream = wanted;
    this.#measure();
    await this.list();
    return true;
  }

  /** Removes a device that has stopped; it can be selected again. @param {MediaStreamTrack} track */
  async lose(track) {
    this.lists[track.kind === "video" ? "camera" : "microphone"].value = "none";
    this.#drop(track);
    await this.list();
  }

  #drop(track) {
    track.stop();
    this.stream.removeTrack(track);
    this.#measure();
  }

  /** Whether any device is selected. */
  get #isAny() { return Object.values(this.lists).some(list => list.value !== "none"); }

  async #take(wanted, { width, height }) {
    const { camera, microphone } = this.lists;
    // Before permission is given, a browser may list no devices although it has some.
    const isBlind = !this.#isAny && !this.#hasAsked;
    this.#hasAsked = true;
    if (isBlind) camera.selectedIndex = microphone.selectedIndex = -1;
    else if (!this.#isAny) throw new Error("choose a camera, a screen or a microphone");
    const picture = { width: { ideal: width }, height: { ideal: height }, frameRate: { ideal: 30 } };
    if (camera.value && !this.isScreen) picture.deviceId = { exact: camera.value };
    const sound = { echoCancellation: true, noiseSuppression: true };
    if (microphone.value) sound.deviceId = { exact: microphone.value };
    const hasSound = microphone.value !== "none";
    const take = found => found.getTracks().forEach(track => wanted.addTrack(track));
    if (this.isScreen) {
      take(await this.media.getDisplayMedia({ video: picture }));
      if (hasSound) take(await this.#ask({ audio: sound }));
    } else take(await this.#ask({ video: camera.value === "none" ? false : picture, audio: hasSound ? sound : false }));
  }

  async #ask(constraints) {
    try {
      return await this.media.getUserMedia(constraints);
    } catch (error) {
      const open = (this.stream?.getVideoTracks() ?? []).filter(track => track.contentHint === "motion");
      if (!mayPass(error) || !constraints.video || !open.length) throw error;
      // Many phones open only one of their cameras at a time.
      open.forEach(track => track.stop());
      return await this.media.getUserMedia(constraints);
    }
  }

  #measure() {
    this.#context?.close();
    this.#context = null;
    if (!this.stream.getAudioTracks().length) return this.onLevel(0);
    const context = this.#context = new AudioContext(), analyser = context.createAnalyser();
    context.createMediaStreamSource(this.stream).connect(analyser);
    // Browsers allow audio processing only after the first gesture.
    if (context.state === "suspended") {
      for (const name of ["click", "keydown"]) addEventListener(name, () => context.resume().catch(() => {}), { once: true });
    }
    const samples = new Float32Array(analyser.fftSize);
    const step = () => {
      if (this.#context !== context) return;
      analyser.getFloatTimeDomainData(samples);
      this.onLevel(Math.min(1, 2 * Math.sqrt(samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length)));
      setTimeout(step, LOOK);
    };
    step();
  }
}
