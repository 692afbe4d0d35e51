// Browsers refuse workers to pages of file://. There the search's worker runs in a hidden frame.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      this.waiting = []
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.appendChild(frame)
      const inner = frame.contentWindow
      inner.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
      inner.importScripts = async (...urls) => {
        for (const each of urls) await this.load(inner.document, new URL(each, url).href)
      }
      this.inner = inner
      this.load(inner.document, url).then(() => {
        this.ready = true
        this.waiting.splice(0).forEach(data => this.postMessage(data))
      })
    }
    load(page, url) {
      return new Promise((done, failed) => {
        const script = page.createElement("script")
        script.src = url
        script.onload = done
        script.onerror = failed
        page.body.appendChild(script)
      })
    }
    postMessage(data) {
      if (!this.ready) this.waiting.push(data)
      else this.inner.dispatchEvent(new MessageEvent("message", { data }))
    }
    terminate() {}
  }
}
